"""Commands on two of a thing, by what they read.

``python -m tests.cli.two_of_each`` runs them, and writes what they print into ``expected.json``:
read what changed in it.
"""

PROMPTS = {
    "arguments": """
        render desk.py:support -p name=Ann -p name=Bob -p plan= --props props.json
        render desk.py:support --props props.json
        render desk.py:support --props props.json -p count:=2 -p 'tags:=["a","b"]'
        render desk.py:support -p name=a=b -p plan:={} -p count=:=3
        render desk.py:support -p name=Ann -p plann=Pro -p cont=2
        render desk.py:needs
        render desk.py:needs -p plan=Pro
        render desk.py:needs -p plan=Pro -p to=Ann -p question=Why?
        render desk.py:support -p name=Ann -p =x
        render desk.py:support -p name=Ann -p plan:=[1,
        render desk.py:support --props list.json
        render desk.py:support -p name=Ann -p count:=2 -p count:=NaN
        render desk.py:support -p name=Ann -p count:=-Infinity -p name:=null
        render desk.py:support --props none.json -p x
        render desk.py:support -p name=Ann --props=desk.py
    """,
    "targets": """
        render desk.py
        render desk.py:trim
        render desk.py:richh
        render desc.py:rich
        render nothing:rich
        render desk.py:Timeline
        render deks.py:rich extra
        rendr desk.py:rich
        desk.py:rich
        render desk.py:loud
        render desk.py:loud --media-root pictures --media-root none --media-root nowhere
    """,
    "messages": """
        render desk.py:rich --for messages
        render desk.py:rich
        render desk.py:rich --outline
        render desk.py:rich --explain --model claude-opus-5-5
    """,
    "messages as data": """
        render desk.py:rich --for messages --json
        render desk.py:rich --for text --json
    """,
    "losses": """
        render desk.py:lossy --for bedrock
        render desk.py:lossy --for gemini
        render desk.py:lossy --model claude-opus-5-5 --for messages --json
        render desk.py:lossy --model nobody
        render desk.py:lossy --for openai --model nobody-2 --tool-choice required
        render desk.py:lossy --for bedrock --strict
    """,
    "errors": """
        render desk.py:between
        render desk.py:failing
        tokens desk.py:between --for openai
        diff desk.py:loud desk.py:failing
        diff desk.py:failing desk.py:between
    """,
    "tokens": """
        tokens desk.py:trimmed --model gpt-5 --budget 150
        tokens desk.py:trimmed --model gpt-5 --budget 150 --depth 1
        tokens desk.py:trimmed --model gpt-5 --sort size --depth 2
        tokens desk.py:trimmed --model gpt-5 --depth 0 --budget 160 --reserve 5
        tokens desk.py:rich --cache auto --for anthropic
        tokens desk.py:trimmed --budget 20
    """,
    "tokens as data": """
        tokens desk.py:trimmed --model gpt-5 --budget 150 --json
        tokens desk.py:rich --model gpt-5 --depth 1 --sort size --json
    """,
    "two prompts": """
        diff desk.py:support -p name=Ann --before plan=Pro --after plan=Free --after name=Bob
        diff desk.py:support --props props.json -p name=Ann --after name=Eve
        diff desk.py:support -p name=Ann --before count:=0
        diff desk.py:support -p name=Ann --before name=Bob --after name=Bob
        diff desk.py:support desk.py:needs -p plan=Pro
        diff desk.py:rich desk.py:trimmed
        diff desk.py:rich desk.py:trimmed --format markdown
        diff desk.py:lossy desk.py:loud --json
        diff desk.py:rich desk.py:trimmed desk.py:loud
        diff desk.py:rich desk.py:lossy --format json --output a/report.json
        diff desk.py:rich desk.py:loud --format json --output a/report.json
        diff desk.py:rich desk.py:loud --format markdown --output a/report.md
        diff desk.py:rich desk.py:lossy --format markdown --output a/report.md
        cat a/report.md
        diff desk.py:rich desk.py:loud --output desk.py
        files a
    """,
    "what a cache can reuse": """
        diff --cache desk.py:support -p name=Ann --before plan=Pro --after plan=Free
        diff --cache desk.py:support -p name=Ann --after count:=2 --json
        diff --cache desk.py:trimmed desk.py:support -p name=Ann --model gpt-5
        diff --cache desk.py:trimmed desk.py:trimmed --model gpt-5 --json
        diff --cache desk.py:trimmed one.json
        diff --cache desk.py:rich --format html
        diff --cache
    """,
}
SNAPSHOTS = {
    "snapshots of two prompts": """
        diff test_x.prompt.txt test_x.2.prompt.txt
        diff test_x.gpt-5.prompt.txt test_x.2.gpt-5.prompt.txt
        diff test_x.2.gpt-4.1.prompt.txt test_x.2.gpt-5.prompt.txt
        diff test_x.2.gpt-4.1.prompt.txt test_x.gpt-4.1.prompt.txt
        diff test_x.prompt.txt
        diff one.json two.json
        diff two.json one.json --json
        diff one.json two.json --for anthropic
        diff one.json no.json
        diff no.prompt.txt none.json
        write test_y.gpt-5.prompt.txt "---\\npromptdsl-snapshot: 1\\nbase: b\\n---\\n"
        diff test_x.prompt.txt test_y.gpt-5.prompt.txt
        records show one.json
        records show two.json --for openai
        records show long.json
        records show over.json
        records show two.json --for anthropic
    """,
}
LOGS = {
    "records of a log": """
        records list log
        records list log --lost
        records list log --dropped
        records list log --lost --dropped
        records list log --name support
        records list log --name support --id r2
        records list log --id r1 --since 2026-11-26T12:30
        records list log --since 2026-11-26T14:10+02:00 --dropped
        records list log --name nobody --json
        records list log --id r2 --lost --json
        records list none
        records list log --since now
    """,
}
RECORDS = {
    "a record of two of each": """
        render desk.py:trimmed --model gpt-5 --budget 150 --record r.json
        records show r.json
        render desk.py:lossy --for bedrock --record r.json
        records show r.json
        render desk.py:support --props props.json -p name=Ann --record desk.py
        render desk.py:support --props props.json -p name=Ann --record s.json
        diff r.json s.json
        records show s.json
    """,
}
CHECKS = {
    "two files": """
        check
        check first.py second.py
        check second.py first.py --select PD104,PD204
        check . --ignore PD1
        check first.py second.py --select PD1 --ignore PD104,PD2
        check first.py --format json
        check wrong.py "wrong too.py"
        check "wrong too.py" first.py
        check firs.py
        check first.py second.py --format github
    """,
    "settings of a project": """
        write pyproject.toml SETTINGS
        check
        check first.py:two
        check first.py:two --model gpt-5 --select PD1,PD2
        check second.py --ignore PD1
    """,
    "two prompts": """
        check first.py:one first.py:two
        check first.py:two second.py:one --select PD101 --format github
        check first.py:fails first.py:misplaced first.py:two --ignore PD1
        check first.py:one --model gpt-5 --model claude-opus-5-5 --format json
        check first.py:two second.py:tow
        check first.py:two -p name=Bob -p name=Eve --ignore PD1
        check --explain pd101
        check --explain PD99
        check first.py --select PD1,PD77
    """,
}
TRANSCRIPTS = {
    "transcripts are checked": """
        transcript check no damaged.jsonl
        transcript check damaged.jsonl no a.jsonl
        transcript check a.jsonl b.jsonl
        transcript check newer.jsonl torn.jsonl other.jsonl
        transcript check chats.db a.jsonl more.db
        transcript check chats.db:c more.db:Ann/1 chats.db:b:2 more.db:no
    """,
    "transcripts are shown": """
        transcript show b.jsonl
        transcript show b.jsonl --all
        transcript show newer.jsonl --all
        transcript show chats.db:b:2 --json
        transcript show more.db:c --all --json
        transcript show torn.jsonl
        transcript show more.db:b
    """,
    "names with two colons": """
        copy more.db chats.db:b
        copy b.jsonl chats.db:c
        transcript show chats.db:b:2
        transcript check chats.db:c chats.db:b:2
    """,
    "transcripts are listed": """
        transcript list .
        transcript list . --json
        transcript list chats.db
        transcript list more.db --json
        write folder/a.jsonl x
        write folder/b.txt x
        transcript list folder
    """,
    "transcripts are written anew": """
        transcript repair torn.jsonl new.jsonl
        transcript show new.jsonl --all
        transcript repair newer.jsonl copy.jsonl
        transcript repair more.db:Ann/1 good.jsonl
        transcript vacuum b.jsonl small.jsonl
        transcript show small.jsonl
        transcript vacuum newer.jsonl other-2.jsonl
        transcript vacuum more.db:c c.jsonl
        transcript repair torn.jsonl new.jsonl
        transcript check new.jsonl copy.jsonl good.jsonl small.jsonl c.jsonl
    """,
    "transcripts are converted": """
        transcript convert b.jsonl --from transcript --to anthropic
        transcript convert b.jsonl b.json --from transcript --to openai
        cat b.json
        transcript convert b.json again.jsonl --from openai --to transcript
        transcript show again.jsonl
        transcript convert chats.db:b:2 --from transcript --to gemini
    """,
}
SESSIONS = {
    "sessions with branches": """
        transcript convert claude.jsonl --from claude-code --to anthropic
        transcript convert pi.jsonl --from pi --to anthropic
        transcript convert codex.jsonl --from codex --to openai
        transcript convert claude.jsonl --from pi --to anthropic
    """,
    "calls without results": """
        transcript convert chat.json --from openai --to anthropic
        transcript convert chat.json --from openai --to anthropic --repair fill
        transcript convert chat.json new.jsonl --from openai --to transcript --repair prune
        transcript show new.jsonl
    """,
}
LIBRARIES = {
    "libraries are listed": """
        list
        list --check
        list --check --json
        list surgery
        list broken --check
        list surgery --json
        list surgry
    """,
    "sections are shown": """
        show surgery:tone
        show desk-two:refunds
        show surgery:refunds -p region=EU -p days=3 -p 'tags:=["a", "b"]'
        show surgery:refunds -p region=EU -p days=x
        show surgery:billing/late -p day=2026-01-02 -p fee=2
        show surgery:open
        show surgery:open -p first=1 -p second=2
        show surgery:card -p title=b
        show surgery:refunds -p regio=EU -p dayss=1
        show surgery:refunds --json
        show surgery:tones
        show surgery:billing
        render surgery:refunds -p region=US
        render desk-two:tone
        show gone:tone
        list gone
        show broken:bad
        show broken:worse --json
    """,
    "sections are copied": """
        eject surgery:tone
        cat tone.py
        eject desk-two:card --to copies/mine.py --json
        cat copies/mine.py
        eject surgery:billing/late --to copies/
        cat copies/late.md.j2
        eject surgery:other-name
        cat other.py
        files copies
        eject surgery:billing/late --to copies/
        eject surgery:refunds --to copies/
        cat copies/refunds.md.j2
        eject spaced:late --to more/
        cat more/late.md.j2
        eject spaced:late --to late.md.j2 --json
        eject spaced:later --to more
        cat more/later.py
        eject surgery:tone --to tone.py
        eject surgery:tone --to tone.py --force
    """,
    "stubs": """
        stubs acme_surgery:library
        stubs acme_surgery.made:made
        cat site/acme_surgery/made.pyi
        stubs acme_surgery.made:made --check
        write site/acme_surgery/made.pyi "made: object\\n"
        stubs acme_surgery.made:made --check
        stubs acme_surgery.made:made
        stubs acme_surgery.made:made --force
    """,
}
PROJECTS = {
    "two libraries in a project": """
        new section rules
        new section one:rules
        new section two:rules --function
        new section two:billing/rates
        new section two:billing/rates
        new section tow:rules
        new section two:extra --function --json
        new section three:extra
        new section one:more --function
        files .
        cat src/acme/two.py
        cat src/acme/sections.py
        cat src/acme/one.py
        cat tests/test_billing_rates.py
        cat src/acme/words/billing/rates.md.j2
    """,
    "a new library": """
        new library promptdsl-help-desk --folder a/b
        files a
        cat a/b/pyproject.toml
        cat a/b/promptdsl_help_desk/library.py
        new library help_desk --folder a/b
        new library help_desk --folder a/b --json --force
        new library Help
        new library 2-help-desk!
        new library class
    """,
}
IN_GIT = {
    "all snapshots of a project": """
        write __snapshots__/t/same.prompt.txt "SNAPSHOT Same."
        write __snapshots__/t/changed.prompt.txt "SNAPSHOT One."
        write __snapshots__/t/gone.prompt.txt "SNAPSHOT Gone."
        write __snapshots__/t/moved-1.prompt.txt "SNAPSHOT Moved."
        write __snapshots__/t/moved-2.prompt.txt "SNAPSHOT Moved."
        write __snapshots__/t/moved-3.prompt.txt "SNAPSHOT Moved."
        write __snapshots__/t/pay.openai.payload.json "PAYLOAD Hi."
        write __snapshots__/t/pay.gemini.payload.json "[1]"
        write __snapshots__/t/x.prompt.txt "SNAPSHOT One."
        write __snapshots__/t/x.gpt-4.prompt.txt "MODEL gpt-4"
        write __snapshots__/t/x.gpt-4.1.prompt.txt "MODEL gpt-4.1"
        write __snapshots__/t/y.prompt.txt "SNAPSHOT Two."
        write __snapshots__/t/y.gpt-4.prompt.txt "MODEL gpt-4"
        write deep/tests/__snapshots__/u/changed.prompt.txt "SNAPSHOT One."
        write deep/tests/other/u/changed.prompt.txt "SNAPSHOT One."
        write deep/tests/none/u/changed.prompt.txt "Nothing."
        write deep/tests/other/u/changed.openai.payload.json "PAYLOAD Hi."
        git init -q -b main
        git add -A
        git commit -qm one
        git checkout -qb side
        write __snapshots__/t/changed.prompt.txt "SNAPSHOT Two."
        git rm -q __snapshots__/t/gone.prompt.txt
        git mv __snapshots__/t/moved-1.prompt.txt __snapshots__/t/new-1.prompt.txt
        git mv __snapshots__/t/moved-3.prompt.txt __snapshots__/t/new-3.prompt.txt
        write __snapshots__/t/added.prompt.txt "SNAPSHOT New."
        write __snapshots__/t/pay.openai.payload.json "PAYLOAD Hello."
        write __snapshots__/t/pay.gemini.payload.json "[2]"
        write __snapshots__/t/y.prompt.txt "SNAPSHOT Three."
        write __snapshots__/t/z.gpt-4.prompt.txt "MODEL gpt-4"
        write deep/tests/__snapshots__/u/changed.prompt.txt "SNAPSHOT Two."
        write deep/tests/other/u/changed.prompt.txt "SNAPSHOT Two."
        write deep/tests/none/u/changed.prompt.txt "Nothing else."
        write deep/tests/other/u/changed.openai.payload.json "PAYLOAD Hello."
        diff --base main
        diff --base main deep --json
        diff --base main __snapshots__ deep/tests/other
        diff --base main no deep
        git commit -qam two
        diff --base main deep/tests/__snapshots__ --format markdown
        cd deep/tests
        diff --base main . ../none
        diff --base main other/u/changed.prompt.txt ../../__snapshots__/t/new-1.prompt.txt
        diff git:main:other/u/changed.prompt.txt other/u/changed.prompt.txt
        diff --base main ../../.. other
    """,
    "snapshots at two revisions": """
        write t/x.prompt.txt "SNAPSHOT One."
        write t/x.gpt-4.1.prompt.txt "MODEL gpt-4.1"
        write t/y.prompt.txt "SNAPSHOT Two."
        write t/y.gpt-4.prompt.txt "MODEL gpt-4"
        git init -q -b main
        git add -A
        git commit -qm one
        git checkout -qb mine
        write t/y.prompt.txt "SNAPSHOT Three."
        git commit -qam two
        write t/y.prompt.txt "SNAPSHOT Four."
        diff git:main:t/y.gpt-4.prompt.txt t/y.gpt-4.prompt.txt
        diff git:main:t/x.gpt-4.1.prompt.txt git:mine:t/y.gpt-4.prompt.txt
        diff git:mine:t/y.prompt.txt git:main:t/none.prompt.txt
        diff git:mian:t/y.prompt.txt
        diff git:mine:t/y.prompt.txt git:nine:t/y.prompt.txt
        diff --base main t
    """,
    "two conflicts": """
        write __snapshots__/t/a.prompt.txt "SNAPSHOT One."
        write __snapshots__/t/b.prompt.txt "SNAPSHOT One."
        write __snapshots__/t/c.prompt.txt "SNAPSHOT One."
        git init -q -b main
        git add -A
        git commit -qm one
        git checkout -qb side
        write __snapshots__/t/a.prompt.txt "SNAPSHOT Two."
        write __snapshots__/t/b.prompt.txt "SNAPSHOT Two."
        git commit -qam two
        git checkout -q main
        write __snapshots__/t/a.prompt.txt "SNAPSHOT Three."
        write __snapshots__/t/b.prompt.txt "SNAPSHOT Three."
        write __snapshots__/t/c.prompt.txt "SNAPSHOT Three."
        git commit -qam three
        git merge side
        diff --base side
        write __snapshots__/t/a.prompt.txt "SNAPSHOT Four."
        diff --base main
    """,
}
GROUPS = {
    "prompts": PROMPTS,
    "snapshots": SNAPSHOTS,
    "logs": LOGS,
    "records": RECORDS,
    "checks": CHECKS,
    "transcripts": TRANSCRIPTS,
    "sessions": SESSIONS,
    "libraries": LIBRARIES,
    "projects": PROJECTS,
    "git": IN_GIT,
}
"""Commands by what they read; each case begins in a folder of its own."""
CASES = {
    f"{group}: {name}": (group, GROUPS[group][name]) for group in GROUPS for name in GROUPS[group]
}
