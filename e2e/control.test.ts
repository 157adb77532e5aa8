/** The control socket of `socle run`: the place, the trusted owners, and the answers that are no confirmation. */
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { project, serve, singleService, socle, temporaryFolder, until } from "./kit.ts";
import { write } from "./scripts-kit.ts";

singleService("process");

const job = 'export const schedule = "0 3 1 1 *";\nexport default ({ logger }: any) => logger.info("it ran");\n';
const own = process.getuid?.() ?? 0;

/** A project with a database so deep that the path of the socket is too long. */
async function deepProject(): Promise<{ cwd: string; database: string }> {
  const cwd = await project();
  await write(cwd, { "jobs/j.ts": job });
  const folder = join(cwd, "d".repeat(120), "é".repeat(60));
  mkdirSync(folder, { recursive: true });
  return { cwd, database: join(folder, "socle.db") };
}

describe("with a long path", async () => {
  const { cwd, database } = await deepProject();
  const env = { SERVICE_DATABASE: database };
  // A file of the user's, named as the socket.
  await write(cwd, { "socle-control.socket": "mine" });
  const server = await serve(cwd, { env });

  test("the socket is beside the database, in a private folder, and used from there", async () => {
    const folder = `${database}-control`;
    expect([statSync(folder).mode & 0o777, statSync(folder).uid]).toEqual([0o700, own]);
    const run = await socle(["run", "job", "j"], { cwd, env });
    expect(run).toEqual({ code: 0, stdout: "INFO  it ran\nCompleted\n", stderr: "" });
    // The service ran the job.
    await until(() => server.output().includes("it ran"));
  });

  test("a stop leaves no part of the socket, and the files of the user", async () => {
    expect(await server.stop()).toBe(0);
    expect(existsSync(`${database}-control`)).toBe(false);
    expect(await Bun.file(join(cwd, "socle-control.socket")).text()).toBe("mine");
  });

  test("without the service, the command runs all the same", async () => {
    expect(await socle(["run", "job", "j"], { cwd, env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Completed"),
    });
  });
});

describe("a foreign socket", () => {
  /** Listens in the place of the service, and answers any lines. */
  async function impostor(lines: string): Promise<{ cwd: string; folder: string; asked: () => number }> {
    const cwd = await project();
    await write(cwd, { "jobs/j.ts": job });
    // `config.json` sets the path of the database; a short path, so that this process can listen.
    const folder = join(cwd, "socle.db-control");
    mkdirSync(folder, { mode: 0o700 });
    let asked = 0;
    const server = Bun.serve({
      unix: join(folder, "socle-control.socket"),
      fetch: () => {
        asked += 1;
        return new Response(lines);
      },
    });
    afterAll(() => server.stop(true));
    return { cwd, folder, asked: () => asked };
  }

  const completed = '{"error":null}\n';

  test("a folder that is open to others is not trusted", async () => {
    const { cwd, folder, asked } = await impostor(completed);
    chmodSync(folder, 0o755);
    const run = await socle(["run", "job", "j"], { cwd });
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toMatch(
      /^Failed: Nothing was done: .*socle\.db-control is open to other users \(mode 755, not 700\)\n$/,
    );
    expect(asked()).toBe(0);
  });

  test("nor a folder of another user", async () => {
    const { cwd, folder, asked } = await impostor(completed);
    // Only root can give a file away. Without root, the test expects that the owner's socket is asked.
    if (own === 0) {
      for (const path of [join(folder, "socle-control.socket"), folder]) {
        chownSync(path, 12_345, 12_345);
        const run = await socle(["run", "job", "j"], { cwd });
        expect(run).toMatchObject({ code: 1, stdout: "" });
        expect(run.stderr).toMatch(/^Failed: Nothing was done: .* belongs to another user \(uid 12345\)\n$/);
      }
      expect(asked()).toBe(0);
    } else {
      expect((await socle(["run", "job", "j"], { cwd })).code).toBe(0);
    }
  });

  test("nor a file or a link in its place", async () => {
    const { cwd, folder } = await impostor(completed);
    rmSync(join(folder, "socle-control.socket"));
    await Bun.write(join(folder, "socle-control.socket"), "");
    expect((await socle(["run", "job", "j"], { cwd })).stderr).toContain("is no socket");
    rmSync(folder, { recursive: true });
    const elsewhere = temporaryFolder();
    await Bun.$`ln -s ${elsewhere} ${folder}`;
    await Bun.write(join(elsewhere, "socle-control.socket"), "");
    expect((await socle(["run", "job", "j"], { cwd })).stderr).toContain("is no folder");
  });

  test.each([
    ["nothing", ""],
    ["that it goes on", '{"alive":true}\n'],
    ["a log alone", '{"log":{"level":"INFO","message":"x"}}\n'],
    ["no JSON", "hello\n"],
    ["half a line", '{"error":null}'],
  ])("a response of %s confirms no run", async (_, lines) => {
    const { cwd } = await impostor(lines);
    const run = await socle(["run", "job", "j"], { cwd });
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining("without a confirmation of the work")]);
    expect(run.stdout).not.toContain("Completed");
  });
});

test("a log entry of a run is a single line, without characters that move the cursor", async () => {
  const cwd = await project();
  const text = "first\\nCompleted\\u001b[2J\\u009b1m\\u202e\\u2028";
  await write(cwd, {
    "jobs/logs.ts": `export const schedule = "@daily";\nexport default ({ logger }: any) => logger.info("${text}", { ["${text}"]: "${text}" });\n`,
    "jobs/fails.ts": `export const schedule = "@daily";\nexport const options = { retries: 0 };\nexport default () => { throw new Error("${text}"); };\n`,
  });
  for (const withService of [false, true]) {
    const server = withService ? await serve(cwd) : null;
    const logs = await socle(["run", "job", "logs"], { cwd });
    expect(logs.stdout.split("\n")).toHaveLength(3);
    expect(logs.stdout).toMatch(/^INFO {2}first\\nCompleted\\u001b\[2J\\u009b1m\\u202e\\u2028 /);
    const fails = await socle(["run", "job", "fails"], { cwd });
    expect(fails.code).toBe(1);
    for (const { stdout, stderr } of [logs, fails])
      for (const output of [stdout, stderr, server?.output() ?? ""])
        expect(output.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
    await server?.stop();
  }
});
