/** docs/grafana.json and docs/alerts.yml: /metrics has every queried metric. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openApi } from "../packages/server/test/kit.ts";
import { root } from "./run.ts";

const text = (name: string): string => readFileSync(join(root, "docs", name), "utf8");

interface Panel {
  id: number;
  type: string;
  title: string;
  targets?: { expr: string }[];
}

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string };
}

const dashboard: { panels: Panel[] } = JSON.parse(text("grafana.json"));
const ofCluster: { panels: Panel[] } = JSON.parse(text("grafana-cluster.json"));
const alerts = Bun.YAML.parse(text("alerts.yml")) as { groups: { rules: Rule[] }[] };
const rules = alerts.groups.flatMap((group) => group.rules);
const expressions = {
  "grafana.json": dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  "alerts.yml": rules.map(({ expr }) => expr),
};

const { request } = await openApi({ settings: { SERVICE_METRICS_TOKEN: "scrape-me" } });
const metrics = new TextDecoder().decode((await request("GET", "/metrics", { token: "scrape-me" })).bytes);
const known = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name));

describe.each(Object.entries(expressions))("%s", (_name, all) => {
  test("asks for existing metrics, and not for an empty list", () => {
    const asked = all.flatMap((expr) => expr.match(/\b(?:socle|process)_\w+/g) ?? []);
    expect(asked.length).toBeGreaterThan(10);
    const missing = asked.filter((name) => !known.has(name) && !known.has(name.replace(/_(bucket|sum|count)$/, "")));
    expect(missing).toEqual([]);
  });

  test("names existing label values", () => {
    // This service has had no requests and hooks, and no fault; the classes, ends and conditions are fixed.
    const fixed = [
      ...["2xx", "4xx", "5xx"].map((status) => `status="${status}"`),
      'end="failed"',
      'level="error"',
      'id="read_only"',
    ];
    const values = metrics + fixed.join("\n");
    const asked = all.flatMap((expr) => [...expr.matchAll(/(\w+)=~?"([^"$]+)"|(\w+)!~"([^"$]+)"/g)]);
    const pairs = asked.flatMap(([, name, value, otherName, others = ""]) =>
      name === undefined ? others.split("|").map((other) => `${otherName}="${other}"`) : [`${name}="${value}"`],
    );
    expect(pairs.filter((pair) => pair !== 'job="socle"' && !values.includes(pair))).toEqual([]);
  });

  test("has brackets and quotation marks in pairs", () => {
    for (const expr of all)
      for (const [open, close] of ["()", "{}", "[]"])
        expect([expr, expr.split(open ?? "").length]).toEqual([expr, expr.split(close ?? "").length]);
    expect(all.filter((expr) => expr.split('"').length % 2 === 0)).toEqual([]);
  });
});

describe("for a cluster", () => {
  const { groups } = Bun.YAML.parse(text("alerts-cluster.yml")) as { groups: { rules: Rule[] }[] };
  const clusterRules = groups.flatMap((group) => group.rules);
  const source = readFileSync(join(root, "packages/server/src/operate/admin/metrics-text.ts"), "utf8");
  const ofInstance = new Set([...source.matchAll(/gauge\("(socle_cluster_\w+)"/g)].map(([, name = ""]) => name));

  test("alerts and panels ask for metrics that instances have, and leave no metric out", () => {
    const panels = ofCluster.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const asked = [...clusterRules.map(({ expr }) => expr), ...panels].flatMap(
      (expr) => expr.match(/\bsocle_\w+/g) ?? [],
    );
    expect([...new Set(asked)].sort()).toEqual([...ofInstance].sort());
  });

  test("each alert has a name of its own, a severity, and the work to do", () => {
    expect(new Set([...rules, ...clusterRules].map(({ alert }) => alert)).size).toBe(
      rules.length + clusterRules.length,
    );
    for (const { alert, labels, annotations } of clusterRules) {
      expect([alert, ["warning", "critical"].includes(labels.severity)]).toEqual([alert, true]);
      expect([alert, annotations.description.length > 20]).toEqual([alert, true]);
    }
  });
});

test("the cited pages and sections exist", () => {
  const files = ["grafana.json", "alerts.yml", "grafana-cluster.json", "alerts-cluster.yml"];
  const cited = files.map(text).flatMap((each) => [...each.matchAll(/docs\/(\w+\.md), "?([A-Z][^".:]*\w)/g)]);
  expect(cited.length).toBeGreaterThan(2);
  for (const [, page = "", section] of cited) expect(text(page)).toContain(`\n## ${section}\n`);
});

test("an alert reports a backup that is too old, and a missing backup", () => {
  expect(rules.map(({ expr }) => expr).join()).toContain("socle_backup_last_success_timestamp_seconds");
  expect(metrics).toContain("socle_backup_last_success_timestamp_seconds 0\n");
});

test("the dashboard: every panel once, with something to show", () => {
  const { panels } = dashboard;
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(panels.filter(({ type, targets = [] }) => type !== "row" && targets.length === 0)).toEqual([]);
});

test("the rules: each has a name of its own, a severity, and the work to do", () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, labels, annotations } of rules) {
    expect([alert, ["warning", "critical"].includes(labels.severity)]).toEqual([alert, true]);
    expect([alert, annotations.summary.length > 0, annotations.description.length > 20]).toEqual([alert, true, true]);
  }
});
