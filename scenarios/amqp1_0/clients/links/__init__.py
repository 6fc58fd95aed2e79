"""What 2.6 to 2.7.6 ask of links of clients that are attached again, resumed, or offered to them."""
