/** Tables of alarms: the conditions that were told, and the posts to the webhook that wait. */
import type { StatusItem } from "@socle/protocol";
import type { ModuleSchema, Reader, Transactor } from "../../store/database/index.ts";

export const alertSchema: ModuleSchema = {
  module: "alerts",
  steps: [
    // `item`: JSON of the last told `StatusItem`. `sent`: JSON of the times of the last messages, in milliseconds since 1970.
    "CREATE TABLE _alerts (key TEXT PRIMARY KEY, isOpen INTEGER NOT NULL, item TEXT NOT NULL, sent TEXT NOT NULL) STRICT",
    "CREATE TABLE _alert_posts (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, attempts INTEGER NOT NULL, notBefore INTEGER NOT NULL) STRICT",
  ],
};

/** A condition that was told. */
export interface AlertRow {
  readonly key: string;
  /** Whether the end of the condition is still to be told. */
  readonly isOpen: boolean;
  readonly item: StatusItem;
  readonly sent: readonly number[];
}

export function alertRows(reader: Reader): AlertRow[] {
  const rows = reader.all<{ key: string; isOpen: number; item: string; sent: string }>("SELECT * FROM _alerts");
  return rows.map(({ key, isOpen, item, sent }) => ({
    key,
    isOpen: isOpen === 1,
    // `saveAlert` has written the texts.
    item: JSON.parse(item) as StatusItem,
    sent: JSON.parse(sent) as number[],
  }));
}

export function saveAlert(tx: Transactor, { key, isOpen, item, sent }: AlertRow): void {
  const sql = "INSERT OR REPLACE INTO _alerts (key, isOpen, item, sent) VALUES (?, ?, ?, ?)";
  tx.run(sql, key, Number(isOpen), JSON.stringify(item), JSON.stringify(sent));
}

export function deleteAlert(tx: Transactor, key: string): void {
  tx.run("DELETE FROM _alerts WHERE key = ?", key);
}

/** A message to the webhook. */
export interface AlertPost {
  readonly id: number;
  readonly body: string;
  /** Attempts that have failed. */
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
}

/** The oldest post. */
export function nextPost(reader: Reader): AlertPost | null {
  return reader.get<AlertPost>("SELECT * FROM _alert_posts ORDER BY id LIMIT 1");
}

/** Adds a post. Beyond `most` posts, the oldest go. */
export function addPost(tx: Transactor, body: string, most: number): void {
  tx.run("INSERT INTO _alert_posts (body, attempts, notBefore) VALUES (?, 0, 0)", body);
  tx.run("DELETE FROM _alert_posts WHERE id <= (SELECT max(id) FROM _alert_posts) - ?", most);
}

export function postponePost(tx: Transactor, id: number, notBefore: number): void {
  tx.run("UPDATE _alert_posts SET attempts = attempts + 1, notBefore = ? WHERE id = ?", notBefore, id);
}

export function deletePost(tx: Transactor, id: number): void {
  tx.run("DELETE FROM _alert_posts WHERE id = ?", id);
}
