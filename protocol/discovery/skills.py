"""The market's skill as files with digests, for MCP Skills (SEP-2640) and the Agent Skills index (0.2.0)."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from protocol.docs.markdown import front_matter
from tools.engine.config import MarketConfig

NAME = "emporion"
INDEX_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
SKILL_PATH = "/.well-known/agent-skills/emporion/SKILL.md"
FOLDER = SKILL_PATH.removesuffix("/SKILL.md")
MARKDOWN = "text/markdown"
MAIN_URI = f"skill://{NAME}/SKILL.md"


class SkillTexts(Protocol):
    """The documents of which the skill consists."""

    skill_md: str
    errors_md: str
    events_md: str
    lifecycle_md: str


@dataclass(frozen=True)
class File:
    """A file of the skill: its path within the skill, and its bytes."""

    path: str
    body: bytes

    @property
    def uri(self) -> str:
        return f"skill://{NAME}/{self.path}"

    @cached_property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.body).hexdigest()}"


class Skill:
    """The skill of a market, made once, so that its bytes and digests agree."""

    def __init__(self, texts: SkillTexts) -> None:
        written = {
            "SKILL.md": texts.skill_md,
            "references/errors.md": texts.errors_md,
            "references/events.md": texts.events_md,
            "references/lifecycle.md": texts.lifecycle_md,
        }
        self.files = tuple(File(path, text.encode()) for path, text in written.items())
        self.frontmatter = front_matter(texts.skill_md)[0]

    @property
    def main(self) -> File:
        return self.files[0]

    def entry(self) -> dict[str, Any]:
        """Return the skill as `skills/list` and `skills/get` show it."""
        files = [{"uri": one.uri, "digest": one.digest, "size": len(one.body)} for one in self.files]
        return {"uri": self.main.uri, "frontmatter": self.frontmatter, "resources": files}

    def index(self, config: MarketConfig) -> dict[str, Any]:
        """Return the index of Agent Skills Discovery, with this skill."""
        listed = {
            "name": NAME,
            "type": "skill-md",
            "description": self.frontmatter["description"],
            "url": config.base_url + SKILL_PATH,
            "digest": self.main.digest,
        }
        return {"$schema": INDEX_SCHEMA, "skills": [listed]}
