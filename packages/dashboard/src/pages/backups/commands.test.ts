import { expect, test } from "bun:test";
import { addressOf, restoreCommands, verifyCommand } from "./commands.ts";

test("the commands name the backup by its whole address, and a key for an encrypted backup alone", () => {
  const plain = addressOf("/mnt/my backups/", "socle-1.tar.zst");
  expect(restoreCommands(plain)).toEqual({
    beside: "mkdir restored && cd restored\nsocle restore '/mnt/my backups/socle-1.tar.zst'\nsocle serve",
    here: "socle restore '/mnt/my backups/socle-1.tar.zst' --force",
  });
  expect(verifyCommand(addressOf("s3://bucket/daily", "socle-1.tar.zst.age"))).toBe(
    "socle verify s3://bucket/daily/socle-1.tar.zst.age --identity KEY",
  );
});

test("a moment of a continuous backup is a part of the command", () => {
  const { here } = restoreCommands("s3://bucket/live", { moment: "2026-11-30T08:15:00Z", needsKey: true });
  expect(here).toBe("socle restore s3://bucket/live --at 2026-11-30T08:15:00Z --identity KEY --force");
});
