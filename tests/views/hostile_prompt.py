"""A prompt whose texts, names, tools and addresses try to leave a view of it."""

from promptdsl import *

ATTACKS = (
    "<script>document.title = 'RAN'</script>",
    "</pre></details></div></style><script>document.title = 'RAN'</script>",
    "<img src=x onerror=\"document.title = 'RAN'\"><svg onload=\"document.title = 'RAN'\">",
    "<a href=\"javascript:document.title = 'RAN'\">click</a> [click](javascript:alert(1))",
    '"><iframe src="javascript:alert(1)"></iframe><!-- --!><base href="http://evil.example">',
    "```\n</details>\n<script>document.title = 'RAN'</script>\n````\n~~~\n\n<style>* {}</style>",
    "{{ 7 * 7 }} ${7 * 7} $$x$$ \\(x\\) &lt;b&gt; &#60;script&#62; &amp;",
    "\u202egnp.exe \u200b\u2066 \x1b[2J \x00 \x85 \r\n \u2028 \ufeff \U000e0041",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 東京",
    "\U0001f468\u200d\U0001f469 Z\u0351\u036b\u0343A",
)
LONG = "x" * 5_000
WIDE = "|".join(f" column {number} " for number in range(100))


def hostile_prompt(address: str) -> Timeline:
    """Return the prompt; its attachments and links lead to an address."""
    links = f'<img src="{address}/1.png"><link rel="stylesheet" href="{address}/2.css">'
    styles = f"<style>@import '{address}/3.css'; body {{ background: url({address}/4) }}</style>"
    with Timeline() as prompt:
        Tool(
            name="find",
            description=ATTACKS[1],
            input_schema={"type": "object", "title": ATTACKS[0]},
        )
        Output({"type": "object", "title": ATTACKS[2]}, name="answer")
        with System():
            Section("rules", *map(Text, ATTACKS), title="<script>document.title = 'RAN'</script>")
            Text("| a | b |\n|---|---|\n| 1 | 2 |")
            Untrusted(ATTACKS[1], source="<b>")
        with Grounding("account", title="</summary>"):
            Text(links, "\n", styles)
            Table([{f"column {number}": "value" * 3 for number in range(30)}])
        with Event():
            UserAction("<img src=x onerror=alert(1)>", target=f"{address}/5.png")
        with User(name="<u onmouseover=alert(1)>" + "n" * 500):
            Text(LONG)
            Text(WIDE)
            Image.from_url(f"{address}/6.png")
            Document.from_url(f"{address}/7.pdf?{'q' * 500}")
        Assistant("On it.", ToolUse("find</b>", {"html": ATTACKS[0]}, id="call_1"))
        ToolMessage("call_1", f"![pic]({address}/8.png) {links}", is_error=True)
        User("Thanks.")
    return prompt
