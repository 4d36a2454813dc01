"""Which files a command line would write is read from it; what reads, and what the shell alone knows, is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.guards import writes
from bb.coordination.guards.writes import Write
from tests.examples import examples


def paths(text: str) -> list[str]:
    return [write.path for write in writes.find_writes(text)]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "> a.py",
            "echo x > a.py",
            "echo x >a.py",
            "echo x >> a.py",
            "echo x >| a.py",
            "make &> a.py",
            "make &>> a.py",
        ),
        *("make >& a.py", "make 2> a.py", "make > a.py 2>&1", "cat <<EOF > a.py\nx > b.py\nEOF", "cat > 'a.py' <<< x"),
        *("{ ls; pwd; } > a.py", "(cd src; ls) > a.py", "cd src > a.py", "for x in 1 2; do ls; done > a.py"),
        *("if ls; then ls > a.py; fi", "bash -c 'echo x > a.py'", "echo $(ls > a.py)", "sudo sh -c 'ls >> a.py'"),
        *("ls | tee a.py", "ls | tee -a a.py", "ls | tee --append -- a.py", "ls | sudo tee a.py > /dev/null"),
        *(
            "sed -i s/x/y/ a.py",
            "sed -i.bak 's/x/y/' a.py",
            "sed -Ei -e s/x/y/ -e s/y/z/ a.py",
            "sed -i '' s/x/y/ a.py",
        ),
        *("sed --in-place=.bak --expression=s/x/y/ a.py", "sed -n -i -f script a.py", "sed -ni '/x/p' a.py"),
        *("perl -pi -e 's/x/y/' a.py", "perl -i.bak -pe 's/x/y/' a.py", "perl -0777 -i -pe 's/x/y/' a.py"),
        *("cp b.py a.py", "cp -p -- b.py a.py", "cp $OLD a.py", "cp *.py a.py", "install -m 644 b.py a.py"),
        *("dd if=/dev/zero of=a.py bs=1 count=9", "rm a.py", "rm -rf -- a.py", "touch a.py", "touch -r b.py a.py"),
        *("truncate -s 0 a.py", "truncate --size=0 a.py", "git rm a.py", "git rm -r -f -- a.py", "git -C . rm a.py"),
        *("patch a.py x.patch", "patch -b a.py < x.patch", "patch -p1 -i x.patch a.py"),
        *("cd . && rm a.py", "FORCE=1 rm a.py", "xargs -n 1 rm a.py", "timeout 5 rm a.py", "(( x > y )); rm a.py"),
        *("[[ x > y ]] && rm a.py", "echo $((x > y)) > a.py"),
    ],
)
def test_a_file_that_is_written_however_that_is_said(text: str):
    assert paths(text) == ["a.py"]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "cat a.py",
            "cat < a.py",
            "cat a.py 2>&1",
            "cat a.py > /dev/null 2>/dev/null",
            "cat a.py >&2",
            "cat a.py 2>&-",
        ),
        *("cat <<EOF\n> a.py\nEOF", "cat <<< a.py", "diff <(sort a.py) a.py", "echo '> a.py'", 'echo "rm a.py"'),
        *("sed s/x/y/ a.py", "sed -n 1p a.py", "perl -pe 's/x/y/' a.py", "perl -ne print a.py", "grep -i rm a.py"),
        *("[[ x > a.py ]]", "[[ x && y > a.py ]]", "(( x > a ))", "((x > a && (y > b)))", "echo $((x > a))"),
        *("for ((i = 9; i > a; i--)); do ls; done", "let 'x > a'", "test x \\> a.py", "# rm a.py", "echo rm a.py"),
        *("> $FILE", "rm $FILE", "rm src/*.py", "rm a?.py", "rm [ab].py", "rm {a,b}.py", "rm $(ls a.py)", "rm `ls`"),
        *("> ~/a.py", "rm ~/a.py", "tee >(cat)", "ls | tee", "ls | tee -", "cp a.py", "mv a.py", "sed -i s/x/y/", "rm"),
        *(
            "cd $DIR && rm a.py",
            "cd - && rm a.py",
            "pushd x; popd; rm a.py",
            "git mv -n a.py b.py",
            "git rm --cached a.py",
        ),
        *(
            "git rm -n a.py",
            "git log a.py",
            "git show HEAD:a.py",
            "install -d a.py",
            "rm .git/index.lock",
            "dd if=a.py",
        ),
        *("git", "rm 'a.py", "> ", ">", ">;", "find . -name a.py", "make install", "echo a >& 2", "touch -d now"),
    ],
)
def test_what_reads_or_is_known_to_the_shell_alone_writes_nothing_that_is_judged(text: str):
    assert paths(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cp x/a.py b", [Write("b", "a.py")]),
        ("cp -r x/ y b", [Write("b", "x"), Write("b", "y")]),
        ("cp -t b x/a.py y", [Write("b", "a.py"), Write("b", "y")]),
        ("cp --target-directory=b a.py", [Write("b", "a.py")]),
        ("cp -T x b", [Write("b")]),
        ("cp $X b", [Write("b", "")]),
        ("mv a.py b", [Write("a.py"), Write("b", "a.py")]),
        ("mv a.py $DIR", [Write("a.py")]),
        ("git mv a.py b", [Write("a.py"), Write("b", "a.py")]),
        ("git -C sub mv a.py b", [Write("sub/a.py"), Write("sub/b", "a.py")]),
        ("cd sub && mv -t b a.py", [Write("sub/a.py"), Write("sub/b", "a.py")]),
        ("install -D -o root a.py b", [Write("b", "a.py")]),
        ("rm a b c/d", [Write("a"), Write("b"), Write("c/d")]),
        ("rm a; rm a", [Write("a")]),
        ("rm /abs/a.py", [Write("/abs/a.py")]),
        ("(cd sub; rm a); rm b", [Write("sub/a"), Write("b")]),
        ("ls > a 2> b", [Write("a"), Write("b")]),
        ("((1 > 2)); ls > a; [[ 1 > 2 ]]; ls > b", [Write("a"), Write("b")]),
    ],
)
def test_what_is_written_and_where(text: str, found: list[Write]):
    assert writes.find_writes(text) == found


@examples(300)
@given(st.text(alphabet="cp rm mv git sed -i tee'\"\\$(){}[]`;&|<>#\n=-t dd of cd EOF", max_size=60))
def test_no_text_is_too_odd_to_be_read(text: str):
    assert all(write.path for write in writes.find_writes(text))


def test_a_device_is_no_file_and_what_is_kept_in_memory_is_one():
    assert paths("cat a.py > /dev/null; rm /dev/shm/repo/a.py /dev/shm") == ["/dev/shm/repo/a.py"]
