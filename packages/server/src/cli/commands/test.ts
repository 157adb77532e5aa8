/** `socle test`: runs the tests of the user's code with Bun's test runner, each file against a service for itself. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { projectState, type TestKit, testKit, untilChanged } from "../../app/index.ts";
import { SetupError } from "../../base/kernel/index.ts";
import { listTests, runTool } from "../../code/script-host/index.ts";
import { RunFolder, TestHost } from "../../testing/index.ts";
import {
  type Command,
  type CommandInvocation,
  loadSettings,
  type OptionValues,
  type Settings,
  withoutLog,
} from "../command.ts";

/** The runner's own default is that of tests that wait for nothing. */
const usualTimeout = "30000";

/** Options of Bun's test runner, passed on unchanged. */
const runnerOptions: NonNullable<Command["options"]> = {
  "test-name-pattern": {
    value: "PATTERN",
    short: "t",
    summary: "run the tests whose names match a regular expression",
  },
  timeout: { value: "MS", summary: `how long a test may take, in milliseconds (default: ${usualTimeout})` },
  bail: { summary: "stop after the first test that fails" },
  "update-snapshots": { short: "u", summary: "write snapshots anew" },
};

export const test: Command = {
  name: "test",
  args: ["[FILE]..."],
  summary: "Run the *.test.ts beside functions, jobs and endpoints, each against a fresh service",
  options: {
    ...runnerOptions,
    log: { summary: "show the whole log of the services, not only warnings and errors" },
    watch: { short: "w", summary: "run again whenever a file of the project changes" },
  },
  async run(invocation) {
    const stopping = new AbortController();
    // From the terminal, the signal reaches the runner too; a signal to this process alone is passed on.
    void invocation.terminal.untilSignal().then(() => stopping.abort());
    const { signal } = stopping;
    if (invocation.options["watch"] !== true) return runOnce(invocation, signal);
    const { config } = await settingsOf(invocation);
    let code = 0;
    while (!signal.aborted) {
      const state = projectState(config);
      code = await runOnce(invocation, signal).catch((thrown: unknown) => {
        if (!(thrown instanceof SetupError)) throw thrown;
        invocation.terminal.err(`socle: ${thrown.message}\n`);
        return 2;
      });
      if (!signal.aborted) invocation.terminal.err("\nWaiting for a change of a file\n");
      await untilChanged(() => projectState(config), { from: state, signal });
    }
    return code;
  },
};

/** The variables of a service in use do not belong to tests, not even wrong values. */
function settingsOf({ options, terminal }: CommandInvocation): Promise<Settings> {
  return loadSettings(options, withoutLog({ ...terminal, environment: {} }));
}

/** Runs the tests, and answers the exit code. */
async function runOnce(invocation: CommandInvocation, signal: AbortSignal): Promise<number> {
  const { args, options, terminal } = invocation;
  const { config, file } = await settingsOf(invocation);
  const files = testFiles(config.folder, args);
  const kit = await testKit();
  using folder = new RunFolder();
  const host = new TestHost({
    folder: folder.path,
    files: files.length,
    service: { config: file.isThere ? file.path : null, logLevel: options["log"] === true ? "INFO" : "WARN" },
    cwd: config.folder,
    environment: terminal.environment,
    onLog: (line) => terminal.err(line),
  });
  try {
    await host.prepare();
    // The runner ends with this process, however that ends.
    const environment = { ...terminal.environment, ...host.variables, BUN_FEATURE_FLAG_NO_ORPHANS: "1" };
    return await runTool(
      ["test", "--isolate", ...(await kitWords(folder.path, kit)), ...runnerWords(options), ...files],
      { cwd: config.folder, environment, signal },
    );
  } finally {
    await host.stop();
  }
}

/**
 * The files to run, as the runner takes paths: all tests of the project, or the tests with a given word in the path.
 * A word that is the path of a file stands for that file, wherever the file is.
 */
function testFiles(folder: string, words: readonly string[]): string[] {
  const all = listTests(folder);
  if (words.length === 0 && all.length === 0)
    throw new SetupError(`${folder} has no tests: write *.test.ts beside functions, jobs and endpoints`);
  const chosen = new Set(words.length === 0 ? all : []);
  for (const word of words) {
    const path = relative(folder, resolve(word));
    const named = /\.[cm]?[jt]sx?$/.test(word) && existsSync(resolve(word)) ? [path] : [];
    const matching = named.length > 0 ? named : all.filter((file) => file.includes(word.replace(/^\.\//, "")));
    if (matching.length === 0)
      throw new SetupError(
        `no test matches "${word}"; there ${all.length === 0 ? "are none" : `are: ${all.join(", ")}`}`,
      );
    for (const file of matching) chosen.add(file);
  }
  return [...chosen].map((file) => (file.startsWith("..") ? resolve(folder, file) : `.${sep}${file}`));
}

/**
 * Writes the module `socle/test` and a program that makes the module known to the runner. Answers the words that load
 * the program.
 */
async function kitWords(folder: string, kit: TestKit): Promise<string[]> {
  const preload = join(folder, "preload.js");
  const program = `import { plugin } from "bun";
const contents = ${JSON.stringify(kit.module)};
plugin({ name: "socle/test", setup: (build) => build.module("socle/test", () => ({ contents, loader: "js" })) });
`;
  await writeFile(preload, program);
  return ["--preload", preload];
}

function runnerWords(options: OptionValues): string[] {
  const given: OptionValues = { timeout: usualTimeout, ...options };
  return Object.keys(runnerOptions).flatMap((name) => {
    const value = given[name];
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, value];
  });
}
