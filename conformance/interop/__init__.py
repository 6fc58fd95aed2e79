"""Whether clients understand each other through a broker: three recorded legs of every message."""
