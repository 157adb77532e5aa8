/** Queues with files that change or do not load, and the bounds of a queue. */
import { describe, expect, test } from "bun:test";
import { echo, enqueue, idle, ran, refusal, waiting } from "../../../test/queues.ts";
import { openScripts } from "../../../test/scripts.ts";
import { until } from "../../../test/sockets.ts";
import { system } from "../../base/kernel/index.ts";

describe("files", () => {
  test("removed, broken and scheduled files leave their runs in the table until the file is a queue again", async () => {
    const far = new Date(Date.now() + 600).toISOString();
    const first = await openScripts({ files: { "jobs/mail.ts": echo } });
    const runId = await enqueue(first, "mail", "x", { at: far });
    await first.stop();
    const { folder } = first;
    await Bun.sleep(Math.max(0, Date.parse(far) - Date.now()));

    await Bun.write(`${folder}/jobs/mail.ts`, "export const queue = {");
    const broken = await openScripts({ folder });
    expect(broken.log).toContain("WARN 1 run of jobs/mail.ts wait, because it does not load");
    expect(await refusal(enqueue(broken, "mail"))).toBe('not_found: There is no queue "mail".');

    const scheduled =
      'export const schedule = "0 0 1 1 *";\nexport default ({ payload, logger }) => logger.info("ran " + payload);\n';
    await broken.save({ "jobs/mail.ts": scheduled });
    expect(broken.log).toContain("WARN 1 run of jobs/mail.ts wait, because it is not there any more, or is no queue");
    await broken.scripts.jobs.runByHand("mail")?.outcome;
    expect(ran(broken)).toEqual(["undefined"]);
    await Bun.sleep(50);
    expect(ran(broken)).toEqual(["undefined"]);

    await broken.save({ "jobs/mail.ts": echo });
    await until(() => ran(broken).length === 2);
    expect(ran(broken)[1]).toBe('"x" 1');
    await idle(broken, "mail");
    expect((await broken.scripts.jobs.runs("mail"))[0]?.runId).toBe(runId);
    await broken.stop();
  });

  test.each([
    [
      "export const queue = { concurrency: 0 };",
      "queue.concurrency: 0 is not valid; allowed: a whole number from 1 to 32",
    ],
    ["export const queue = { retries: -1 };", "queue.retries: -1 is not valid; allowed: a whole number from 0 to 100"],
    ['export const queue = { backoff: "fast" };', 'queue.backoff: "fast" is not valid; allowed: exponential or linear'],
    ["export const queue = { retrie: 1 };", "queue.retrie is unknown; did you mean retries?"],
    ["export const queue = 4;", "queue must be an object such as { concurrency: 4 }, not 4"],
    [
      'export const queue = {}; export const schedule = "* * * * *";',
      "exports schedule and queue: a job runs by the clock or by its queue, not by both",
    ],
    ["export const queue = {}; export const options = { retries: 1 };", "options.retries is unknown; allowed: timeout"],
  ])("%s does not load", async (code, message) => {
    const opened = await openScripts({ files: { "jobs/wrong.ts": `${code}\nexport default () => 1;\n` } });
    expect(opened.log).toContain(`ERROR jobs/wrong.ts does not load, it has no effect: ${message}`);
    await opened.stop();
  });
});

describe("bounds", () => {
  test("the payload, the key, the time and the options have bounds that errors name", async () => {
    const opened = await openScripts({ files: { "jobs/mail.ts": echo }, settings: { SERVICE_LIMITS_PAYLOAD: "100" } });
    const { queues } = opened.scripts.jobs;
    const tell = (payload: string, options: unknown) => refusal(queues.enqueue("mail", { payload, options }, system));
    await queues.enqueue("mail", { payload: `"${"x".repeat(98)}"`, options: null }, system);
    expect(await tell(`"${"x".repeat(99)}"`, {})).toStartWith(
      "payload_too_large: The payload has 101 bytes; limits.payload allows 100.",
    );
    expect(await tell("1", { key: "" })).toBe('bad_request: "key" must be a text of 1 to 200 characters, not "".');
    expect(await tell("1", { key: "x".repeat(201) })).toStartWith('bad_request: "key" must be');
    expect(await tell("1", { at: "tomorrow" })).toStartWith('bad_request: "at" must be a Date, or a text such as');
    expect(await tell("1", { att: 1 })).toBe('bad_request: "att" is no option beside the payload; allowed: at, key.');
    expect(await tell("1", [])).toStartWith("bad_request: The options must be an object");
    expect(await refusal(queues.enqueue("mial", { payload: "1", options: null }, system))).toBe(
      'not_found: There is no queue "mial". Did you mean mail?',
    );
    await idle(opened, "mail");
    expect(ran(opened)).toHaveLength(1);
    await opened.stop();
  });

  test("a full queue refuses, other queues accept, and the queue accepts again after runs", async () => {
    const opened = await openScripts({
      files: { "jobs/wait.ts": waiting, "jobs/mail.ts": echo },
      settings: { SERVICE_LIMITS_QUEUED_RUNS: "3" },
    });
    for (const payload of ["a", "b", "c"]) await enqueue(opened, "wait", payload);
    expect(await refusal(enqueue(opened, "wait", "d"))).toBe(
      "unavailable: The queue wait is full: 3 runs wait (limits.queuedRuns).",
    );
    await enqueue(opened, "mail", "x");
    await Bun.write(`${opened.folder}/go-b`, "");
    const { queues } = opened.scripts.jobs;
    for (let open = 3; open === 3; await Bun.sleep(2)) {
      const { waiting: waits, running } = await queues.counts("wait");
      open = waits + running;
    }
    await enqueue(opened, "wait", "d");
    await until(() => opened.log.includes("INFO began d"));
    await opened.stop();
  });
});
