/** Verifications of backups beside the stop of the service: a verification that the stop cuts off is no fault of the backup. */
import { expect, test } from "bun:test";
import { backUp } from "../../../test/backups.ts";
import { openFiles } from "../../../test/files.ts";
import { dataPathsOf, knownSchemas } from "../../app/index.ts";
import { Logger } from "../../base/logging/index.ts";
import { BackupChecks } from "./checks.ts";

test("a stop ends a verification without an error in the log, and a verification after the stop is refused", async () => {
  const files = await openFiles();
  const file = await backUp(files);
  const lines: string[] = [];
  const sink = ({ level, message }: { level: string; message: string }): void => void lines.push(`${level} ${message}`);
  const logger = new Logger({ level: "INFO", sinks: [sink] });
  const open = (): BackupChecks =>
    new BackupChecks({ paths: dataPathsOf(files.config), schemas: knownSchemas, logger });
  const whole = open();
  whole.begin("whole", file);
  while (whole.of("whole")?.state === "running") await Bun.sleep(5);
  const cut = open();
  cut.begin("cut", file);
  await cut.stop();
  expect(lines).toEqual(["INFO Backup whole is intact"]);
  expect(() => cut.begin("late", file)).toThrow("The service is stopping.");
  await whole.stop();
});
