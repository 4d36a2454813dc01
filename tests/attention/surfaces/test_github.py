"""GitHub's webhooks as lines."""

from __future__ import annotations

from typing import Any

import pytest

from bb.attention.surfaces import github
from bb.attention.surfaces.payload import MalformedPayload
from tests.attention.surfaces.stored import each, line, lines, spoilt, stored, without, words


def told(name: str) -> dict[str, Any]:
    return line("github", name)


def test_a_comment_is_a_message_in_the_thread_of_its_issue():
    assert told("comment-created") == {
        "type": "message",
        "eventId": "github:acme/kettle:comment:123",
        "source": {"platform": "github", "workspaceId": "acme/kettle"},
        "conversation": {
            "id": "acme/kettle",
            "kind": "channel",
            "name": "acme/kettle",
            "threadId": "17",
            "rootId": "github:acme/kettle:issue:17",
            "streamId": "acme/kettle",
        },
        "author": {"id": "ada-l", "kind": "human"},
        "target": {"mentions": ["bo-k", "@acme/stokers"]},
        "content": [{"type": "text", "text": "@bo-k can you look at this? cc @acme/stokers"}],
        "timing": {"createdAt": "2026-11-20T10:00:00.000Z"},
    }


def test_an_edit_has_the_id_of_the_message_and_a_version_that_grows():
    edit = told("comment-edited")

    assert (edit["type"], edit["eventId"]) == ("edit", told("comment-created")["eventId"])
    assert words(edit) == ["@bo-k can you look at the lid?"]
    assert edit["target"] == {"mentions": ["bo-k"]}
    assert edit["timing"] == {"createdAt": "2026-11-20T10:05:30.000Z"}
    assert edit["version"] == 1_795_169_130_000


def test_an_edit_without_a_word_about_what_changed_is_one():
    headers, body = stored("github", "comment-edited")

    assert github.lines(headers, without(body, "changes")) == [told("comment-edited")]


@pytest.mark.parametrize("name", ["comment-deleted", "review-comment-deleted", "issue-deleted"])
def test_a_deletion_names_what_is_gone(name: str):
    gone = told(name)

    assert gone == {"type": "delete", "eventId": gone["eventId"]}


@pytest.mark.parametrize(
    ("deleted", "created"),
    [
        ("comment-deleted", "comment-created"),
        ("review-comment-deleted", "review-comment-created"),
        ("issue-deleted", "issue-opened"),
    ],
)
def test_what_is_deleted_is_what_was_created(deleted: str, created: str):
    assert told(deleted)["eventId"] == told(created)["eventId"]


def test_a_bot_is_an_agent_by_its_type_or_by_its_name():
    headers, body = stored("github", "comment-by-a-bot")

    assert told("comment-by-a-bot")["author"] == {"id": "kettle-ci[bot]", "kind": "agent"}
    for place, other in ((("comment", "user", "type"), "User"), (("comment", "user", "login"), "kettle-ci")):
        assert github.lines(headers, spoilt(body, place, other))[0]["author"]["kind"] == "agent"


def test_whoever_has_deleted_their_account_is_ghost():
    assert told("comment-by-nobody-left")["author"] == {"id": "ghost", "kind": "human"}


def test_only_the_authors_own_visible_words_call_somebody():
    assert told("comment-with-quotes-and-code")["target"] == {"mentions": ["bo-k"]}


def test_a_comment_that_bb_posted_itself_says_so():
    assert told("comment-of-our-own")["marker"] == "ada-l.out-42"


def test_a_comment_that_quotes_one_of_bb_is_somebody_elses():
    assert "marker" not in told("comment-that-quotes-ours")


def test_a_private_repository_is_a_private_conversation_and_so_is_one_that_does_not_say():
    headers, body = stored("github", "comment-created")

    assert told("comment-in-a-private-repository")["conversation"]["private"] is True
    assert github.lines(headers, without(body, "repository.private"))[0]["conversation"]["private"] is True


def test_an_issue_is_a_message_that_its_title_and_text_make():
    issue = told("issue-opened")

    assert issue["eventId"] == "github:acme/kettle:issue:17"
    assert issue["author"]["id"] == "bo-k"
    assert issue["content"] == [
        {
            "type": "text",
            "text": "The kettle boils over\n\nIt boils over when nobody looks.\n\n@acme/stokers please have a look.",
        },
        {"type": "link", "url": "https://github.com/acme/kettle/issues/17"},
    ]
    assert issue["target"] == {"mentions": ["@acme/stokers"]}


def test_a_pull_request_without_a_text_is_a_message_that_its_title_makes():
    assert words(told("pull-opened")) == ["Watch the kettle"]


def test_a_new_title_is_an_edit_and_a_new_base_is_none():
    assert words(told("issue-edited"))[0].startswith("The kettle boils over at night\n\n")
    assert lines("github", "pull-moved-to-another-base") == []


def test_an_assignment_is_addressed_to_whoever_is_to_do_it_and_to_nobody_in_the_text():
    assigned = told("issue-assigned")

    assert assigned["eventId"] == "github:acme/kettle:issue:17:assigned:ada-l:2026-11-20T10:00:00Z"
    assert assigned["intent"] == "assignment"
    assert assigned["author"]["id"] == "bo-k"
    assert assigned["target"] == {"mentions": ["ada-l"], "recipient": "ada-l"}
    assert words(assigned)[0] == "Assigned to ada-l: The kettle boils over"
    assert told("pull-assigned")["eventId"].startswith("github:acme/kettle:pull:18:assigned:kettle-ci[bot]:")


def test_a_review_is_asked_of_somebody_or_of_a_team():
    one, team = told("pull-review-requested"), told("pull-review-requested-of-a-team")

    assert (one["intent"], team["intent"]) == ("approval_request", "approval_request")
    assert one["target"] == {"mentions": ["bo-k"], "recipient": "bo-k"}
    assert team["target"] == {"mentions": ["@acme/stokers"]}
    assert one["eventId"] != team["eventId"]


def test_a_review_says_its_verdict_and_its_words():
    assert words(told("review-submitted")) == ["Changes requested.", "The lid is @ada-l 's job."]
    assert words(told("review-approved-without-a-word")) == ["Approved."]
    assert told("review-submitted")["target"] == {"mentions": ["ada-l"]}


def test_the_version_of_an_edited_review_is_that_of_its_pull_request_or_its_own():
    headers, body = stored("github", "review-edited")
    own = spoilt(body, ("review", "updated_at"), "2026-11-20T12:30:00Z")

    assert told("review-edited")["timing"] == {"createdAt": "2026-11-20T12:20:00.000Z"}
    assert github.lines(headers, own)[0]["timing"] == {"createdAt": "2026-11-20T12:30:00.000Z"}
    assert words(told("review-edited")) == ["Changes requested.", "The lid is my job."]


def test_a_review_comment_says_where_in_the_code_it_stands_and_what_it_answers():
    first, answer = told("review-comment-created"), told("review-comment-answered")

    assert first["eventId"] == "github:acme/kettle:review_comment:601"
    assert first["conversation"]["threadId"] == "18"
    assert first["content"][1]["title"] == "src/lid.py:12"
    assert "replyTo" not in first
    assert answer["replyTo"] == first["eventId"]
    assert answer["conversation"]["rootId"] == first["eventId"]
    assert told("review-comment-edited")["eventId"] == first["eventId"]


@pytest.mark.parametrize(
    "name",
    [
        "ping",
        "issue-labelled",
        "comment-edited-but-not-its-text",
        "review-that-only-holds-comments",
        "comment-on-a-commit",
    ],
)
def test_what_says_nothing_for_us_is_no_line(name: str):
    assert lines("github", name) == []


@pytest.mark.parametrize(
    "name", ["comment-created", "issue-assigned", "pull-opened", "review-submitted", "review-comment-answered"]
)
def test_a_body_without_headers_is_known_by_what_is_in_it(name: str):
    _, body = stored("github", name)

    assert github.lines({}, body) == [told(name)]


@pytest.mark.parametrize("name", ["ping", "comment-on-a-commit"])
def test_a_body_without_headers_that_says_nothing_for_us_is_no_line(name: str):
    assert github.lines({}, stored("github", name)[1]) == []


def test_the_name_of_a_header_is_the_same_in_any_case():
    assert github.lines({"x-github-event": "issue_comment"}, stored("github", "comment-created")[1])


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *each(
            "comment-created",
            "action",
            "comment",
            "comment.id",
            "comment.user",
            "comment.user.login",
            "comment.created_at",
            "issue",
            "issue.number",
            "repository",
            "repository.full_name",
        ),
        *each("issue-opened", "issue.title", "issue.user"),
        *each(
            "issue-assigned", "assignee", "assignee.login", "issue.updated_at", "issue.title", "sender", "sender.login"
        ),
        *each("pull-review-requested", "requested_reviewer", "pull_request.number"),
        *each("pull-review-requested-of-a-team", "requested_team.slug"),
        *each("review-submitted", "review.id", "review.submitted_at", "pull_request"),
        *each("comment-deleted", "comment.id"),
    ],
)
def test_a_payload_that_lacks_what_is_needed_is_refused_with_its_path(name: str, path: str):
    headers, body = stored("github", name)

    with pytest.raises(MalformedPayload.error) as refusal:
        github.lines(headers, without(body, path))

    assert refusal.value.details == {"path": f"$.{path}"}
    assert str(refusal.value) == f"$.{path} is missing"


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("comment", "id"), "123"),
        (("comment", "id"), True),
        (("comment", "body"), ["x"]),
        (("comment", "created_at"), "yesterday"),
        (("comment", "user"), "ada-l"),
        (("repository", "private"), "no"),
    ],
)
def test_a_member_of_the_wrong_type_is_refused_with_its_path(place: tuple[str, ...], wrong: Any):
    headers, body = stored("github", "comment-created")

    with pytest.raises(MalformedPayload.error) as refusal:
        github.lines(headers, spoilt(body, place, wrong))

    assert refusal.value.details == {"path": "$." + ".".join(place)}
