"""Small chat templates, each with what one family of models is known for."""

from pathlib import Path

from promptdsl import ChatTemplate

TEMPLATES = {
    path.stem: ChatTemplate(path.read_text("utf-8"), bos_token="<bos>", eos_token="<eos>")
    for path in sorted(Path(__file__).parent.glob("*.jinja"))
}
