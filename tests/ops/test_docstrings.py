"""The docstring of an op: the summary, the description, and a help text for each parameter."""

from __future__ import annotations

import pytest

from bb.ops import docstrings

FULL = """Send a message.

    The first paragraph.
        An indented line.

    The last paragraph.

    Parameters:
        subject: The subject: one line.
        file_ (FILE): The file to send,
            which may be large (or
              empty).

        to (PLATFORM:ID): The recipient.
    """


def test_the_description_ends_before_the_parameters():
    assert docstrings.description(FULL) == "The first paragraph.\n    An indented line.\n\nThe last paragraph."


def test_each_parameter_has_a_text_and_may_have_a_metavar():
    assert docstrings.parameters(FULL) == {
        "subject": ("", "The subject: one line."),
        "file_": ("FILE", "The file to send, which may be large (or empty)."),
        "to": ("PLATFORM:ID", "The recipient."),
    }


@pytest.mark.parametrize("docstring", ["", "Do it.", "Do it.\n\n    Parameters are read.\n    Parameters: none.\n    "])
def test_a_docstring_may_have_no_parameters(docstring: str):
    assert docstrings.parameters(docstring) == {}
    assert (docstrings.about(docstring, "to"), docstrings.metavar(docstring, "to")) == ("", "")


def test_a_docstring_may_have_only_parameters():
    docstring = "Do it.\n\n    Parameters:\n        to: The recipient.\n    "
    assert docstrings.description(docstring) == ""
    assert docstrings.about(docstring, "to") == "The recipient."


def test_the_compiler_may_have_removed_the_indentation():
    """As Python does from 3.13 on."""
    dedented = "\n".join(line.removeprefix("    ") for line in FULL.split("\n"))

    assert dedented != FULL
    assert docstrings.description(dedented) == docstrings.description(FULL)
    assert docstrings.parameters(dedented) == docstrings.parameters(FULL)
