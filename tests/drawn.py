"""What tests read off a picture."""


def legend_of(display):
    return [text.get_text() for text in display.figure_.legends[0].get_texts()]
