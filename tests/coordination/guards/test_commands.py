"""Which shell commands may change files: a table of command lines as agents write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bb.coordination.guards.commands import MAY_WRITE, READS, REWRITES, effect
from tests.examples import examples

READING = """
ls -la src
cat README.md | head -40
grep -rn "def parse" src 2>/dev/null
rg -n --hidden 'TODO|FIXME' -g '*.py'
sed -n '1,80p' src/dates.py
sed -nE '/^def/p' src/dates.py
awk '{print $1}' data.txt | sort | uniq -c | sort -rn | head
find . -name '*.py' -not -path './.venv/*'
fd -e py . src
wc -l src/*.py
git status
git status --short && git diff --stat
git --no-pager log --oneline -10
git -C ../other log -3
git -c color.ui=never diff HEAD~1 -- src
git --git-dir .git --work-tree . status
git show HEAD:src/dates.py
git blame -L 10,20 src/dates.py
git add -A
git commit -m 'Read dates'
git push origin HEAD
git fetch --all --prune
git branch --show-current
git rev-parse HEAD
git
pytest -q tests/test_dates.py
python -m pytest -x -q 2>&1 | tail -20
python3 -m unittest discover
PYTHONPATH=src python -m pytest
uv run pytest -q
uv run python -m pytest -q
uv run --no-sync pytest
poetry run pytest
pipenv run python -m pytest
npx tsc --noEmit
npx jest src/dates.test.ts
npm test
npm t -- --watch=false
pnpm test
yarn test
cargo test --all
cargo check
cargo clippy -- -D warnings
go test ./...
go vet ./...
make test
make check
mypy src
ruff check src
ruff format --check .
ruff format --diff
black --check .
black --diff src/dates.py
isort --check-only .
prettier --check .
prettier src/a.ts
npx prettier --list-different .
eslint .
npx eslint src --max-warnings 0
stylelint 'src/**/*.css'
gofmt -l .
gofmt -d main.go
clang-format --dry-run src/a.c
clang-format src/a.c
cargo fmt --check
cargo fmt -- --check
terraform fmt -check
rubocop
biome check src
shfmt -d .
tsc -p .
bash -c 'ls -l'
bash -lc "pytest -q"
timeout 60 pytest -q
nice -n 10 pytest
env CI=1 pytest
time make test
cd src && ls
(cd src && cat dates.py)
echo done
printf '%s\\n' x
test -f a.py && echo yes
[ -d src ] || echo no
which python
sleep 5
curl -s http://localhost:8000/health
jq .version package.json
bb status
bb commit -m 'Read dates'
diff a.py b.py
docker ps
pip list
true
"""
WRITING = """
python scripts/generate.py
python -c 'open("a", "w")'
./scripts/build
bash scripts/build.sh
node build.js
make
make all
npm run build
npm run test
npm install
npm run lint -- --fix
yarn install
cp a.py b.py
mv a.py b.py
rm -rf build
touch a.py
mkdir -p src/new
tee a.py
git log | tee out.txt
sed -i 's/a/b/' src/dates.py
sed -i.bak 's/a/b/' src/dates.py
sed -Ei 's/(a)/b/' src/dates.py
sed -ni.bak '1p' src/dates.py
sed --in-place=.bak 's/a/b/' src/dates.py
find . -name '*.pyc' -delete
find . -name '*.py' -exec sed -i s/a/b/ {} +
fd -e py -x rm
xargs rm
sort -o data.txt data.txt
sort -uo data.txt data.txt
curl -O http://example.invalid/a
curl -sSfLo a http://example.invalid/a
yq -i .a=1 a.yaml
jest -u
npx jest --updateSnapshot
ruff check --fix .
ruff check src --unsafe-fixes
cargo clippy --fix
dd if=/dev/zero of=a
vim a.py
perl -pi -e s/a/b/ a.py
$(cat command)
eval "$COMMAND"
ls && ./generate
ls; rm a.py
pytest || cp a b
'unclosed
for f in *; do rm "$f"; done
uv sync
npx some-tool
tool-that-nobody-knows
alembic revision -m x
"""
REWRITING = """
black .
black src/dates.py
python -m black .
isort .
ruff format
ruff format src/dates.py
uv run ruff format .
uvx ruff format
poetry run black .
npx prettier --write .
npx --yes prettier -w src
prettier --write 'src/**/*.ts'
eslint --fix .
npx eslint src --fix
biome check --write src
rubocop -A
gofmt -w .
goimports -w main.go
go fmt ./...
clang-format -i src/a.c
yapf -i -r .
autopep8 --in-place a.py
cargo fmt
cargo fix --allow-dirty
rustfmt src/main.rs
terraform fmt
dart format .
mix format
shfmt -w .
patch -p1 < change.patch
git apply change.patch
git stash
git stash pop
git checkout main
git checkout -- src/dates.py
git -C . checkout main
git restore src/dates.py
git reset --hard
git merge other
git rebase main
git pull --rebase
git cherry-pick abc
git revert HEAD
git mv a.py b.py
git rm a.py
git clean -fd
git switch main
pytest && black .
ls | xargs black
bash -c 'black .'
"""


def rows(table: str) -> list[str]:
    return table.strip().split("\n")


@pytest.mark.parametrize("line", rows(READING))
def test_a_command_that_reads_is_known_to(line: str):
    assert effect(line) == READS


@pytest.mark.parametrize("line", rows(WRITING))
def test_a_command_that_writes_or_is_not_known_may_write(line: str):
    assert effect(line) == MAY_WRITE


@pytest.mark.parametrize("line", rows(REWRITING))
def test_a_formatter_and_a_git_command_that_changes_the_work_tree_rewrite_files(line: str):
    assert effect(line) == REWRITES


@pytest.mark.parametrize("line", ["", " ", "\t"])
def test_nothing_reads(line: str):
    assert effect(line) == READS


@given(st.text(max_size=60))
@examples(200)
def test_any_text_has_an_effect(text: str):
    assert effect(text) in (READS, MAY_WRITE, REWRITES)


@given(
    st.lists(st.sampled_from([*rows(READING)[:30], *rows(WRITING)[:20], *rows(REWRITING)[:20]]), min_size=1, max_size=4)
)
@examples(100)
def test_several_commands_have_the_strongest_effect_of_theirs(lines: list[str]):
    order = [READS, MAY_WRITE, REWRITES]

    assert effect("\n".join(lines)) == max(map(effect, lines), key=order.index)
