"""What reference peers of all protocols share: rows, servers, proxies, interposers, fakes."""
