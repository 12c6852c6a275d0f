"""How results are shown: wording, colours, HTML cards, data frames."""
