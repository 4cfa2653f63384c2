"""What takes how long on the machine at hand: `make bench`. A slow machine fails nothing here."""
