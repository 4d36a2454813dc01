"""The simple rules for symbols: what is theirs alone, how a name is looked up, and what a commit did to symbols."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.lines.symbol import LANGUAGES, Symbol, named, near_names
from bb.coordination.lines.symbol_changes import Changes, changed_symbols
from bb.coordination.lines.symbols import symbols
from tests.examples import examples


def names(path: str, text: str) -> list[str]:
    return [one.name for one in symbols(path, text.encode())]


CPP = """namespace app {

template <typename T>
class Box : public Base<T> {
public:
  int size() const {
    return 1;
  }
};

}

int
main(int argc)
{
  return 0;
}

void app::Box::run() {
}
"""
CSHARP = """namespace N
{
    public class C
    {
        public int F(int x)
        {
            return x;
        }
    }
}
"""


def test_languages_without_a_grammar_have_their_rules_too() -> None:
    assert names("a.cpp", CPP) == ["app", "app.Box", "app.Box.size", "main", "app.Box.run"]
    assert names("a.cs", CSHARP) == ["N", "N.C", "N.C.F"]
    assert names("a.rb", "module A\n  class B\n    def self.c\n      1\n    end\n  end\nend\n") == ["A", "A.B", "A.B.c"]
    assert names("a.sh", "run() {\n  echo\n}\nfunction stop {\n  echo\n}\n") == ["run", "stop"]
    assert names("a.kt", "data class P(val x: Int)\n\nfun String.shout(): String {\n    return this\n}\n") == [
        "P",
        "shout",
    ]
    assert names("a.rst", "Title\n=====\n\nOne\n---\n\ntext\n\nTwo\n---\n") == ["Title", "One", "Two"]
    assert names("a.ini", "[one]\nkey = 1\n  more\n[two]\nother: 2\n") == ["one", "one.key", "two", "two.other"]


def test_brackets_in_strings_and_comments_close_nothing() -> None:
    text = "function f() {\n  const a = \"}\"; // }\n  /* } */ return `}\n}` + '{';\n}\nfunction g() {\n}\n"
    assert [(one.name, one.first, one.end) for one in symbols("a.js", text.encode())] == [("f", 0, 5), ("g", 5, 7)]


def test_a_name_may_leave_out_what_it_is_in_if_only_one_symbol_has_it() -> None:
    found = [Symbol("A", "class", 0, 9), Symbol("A.f", "function", 1, 3), Symbol("A.g", "function", 3, 5)]
    found += [Symbol("B.g", "function", 7, 9), Symbol("h", "function", 9, 10), Symbol("h", "function", 11, 12)]

    assert [one.name for one in named("f", found)] == ["A.f"]
    assert named("g", found) == []  # there are two
    assert len(named("h", found)) == 2  # one symbol in two parts
    assert [one.name for one in named("B.g", found)] == ["B.g"]


def test_near_names_are_offered_and_strange_ones_are_not() -> None:
    found = [Symbol(name, "function", 0, 1) for name in ("roman", "Number.to_roman", "arabic", "main")]

    assert near_names("romans", found, 3)[0] == "roman"
    assert "arabic" not in near_names("romans", found, 3)


OLD = b"""def parse(text):
    words = text.split()
    return [word.strip() for word in words]


def show(number):
    print(number)
    print("done")


class Box:
    def one(self):
        return 1

    def two(self):
        return 2


def last():
    return 9
"""


def test_what_a_change_did_is_told_by_symbols() -> None:
    new = OLD.replace(b"def parse(text):", b"def read(text):").replace(b"return 2", b"return 3")
    new = new.replace(b'def show(number):\n    print(number)\n    print("done")\n\n\n', b"")
    new += b"\n\ndef fresh():\n    return [each for each in ()]\n"

    assert changed_symbols("a.py", OLD, new) == Changes(
        renamed=(("parse", "read"),), removed=("show",), added=("fresh",), changed=("Box.two",)
    )


def test_a_symbol_at_another_place_has_moved_and_is_not_changed() -> None:
    last = b"\n\ndef last():\n    return 9\n"
    new = last.lstrip() + b"\n\n" + OLD.replace(last, b"")

    assert changed_symbols("a.py", OLD, new) == Changes(moved=("last",))


def test_of_a_renamed_class_its_methods_are_not_listed() -> None:
    assert changed_symbols("a.py", OLD, OLD.replace(b"class Box", b"class Case")) == Changes(renamed=(("Box", "Case"),))


def test_no_change_is_nothing() -> None:
    assert changed_symbols("a.py", OLD, OLD).is_nothing


@examples(60)
@given(
    st.sampled_from([suffix for row in LANGUAGES.values() for suffix in row.split()]),
    st.text("ab .:={}()[]\"'`#/*\n\t-|>@<!", max_size=200),
)
def test_no_text_breaks_a_rule(suffix: str, text: str) -> None:
    lines = text.count("\n") + 1
    for one in symbols(f"a{suffix}", text.encode()):
        assert one.name
        assert 0 <= one.first < one.end <= lines
