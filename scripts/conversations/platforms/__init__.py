"""The payloads of the platforms, as they would send them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.conversations.platforms.discord import Discord
from scripts.conversations.platforms.github import GitHub
from scripts.conversations.platforms.matrix import Matrix
from scripts.conversations.platforms.slack import Slack

if TYPE_CHECKING:
    from scripts.conversations.platforms.platform import Platform
    from scripts.conversations.script import Conversation


def platform(conversation: Conversation, start: int) -> Platform:
    """The platform of a conversation that begins at START."""
    kinds = {kind.name: kind for kind in (Slack, Discord, Matrix, GitHub)}
    return kinds[conversation.platform](conversation, start)
