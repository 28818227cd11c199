def test_x(five_weeks, memaudit, tmp_path):
    ran = five_weeks("--fail-on", "new", "--ignore", "duplicates")
    import json

    for w, r in enumerate(ran):
        d = json.loads((tmp_path / f"week-{w + 1}" / "report.json").read_text())
        print(r.code, r.err[:300])
        print(r.out[r.out.find("Since ") :][:900])
        for c in (d["changes"] or {"findings": []})["findings"]:
            print(w + 1, c["state"], c["code"], c["figure"], c["before"], c["after"], c["reason"])
    print(memaudit("diff", "audits").out)
    print(memaudit("diff", "week-3/report.json", "week-4/report.json", "--format", "markdown").out)
    import shutil

    shutil.copytree(tmp_path, "/tmp/habit/weeks", dirs_exist_ok=True)
