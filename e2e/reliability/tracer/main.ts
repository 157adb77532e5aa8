/**
 * The tracer: runs a command below ptrace, and records the changes of files, injects faults into the system calls, or moves the
 * clock. Linux on x86_64 and arm64, without further tools.
 *
 *     bun e2e/reliability/tracer/main.ts CONFIG -- COMMAND [ARGUMENT…]
 *
 * CONFIG is a JSON file (`config.ts`, `TracerConfig`). Tests call `serveTraced` (`traced.ts`) and never this file.
 *
 * - `record`: `readLog` (`log.ts`) tells, after the command's end, every change of files and names below a folder, and every
 *   flush. A client that hears an answer of the command then reads `control.entries`: every change that the
 *   answer depends on is in the log before that entry.
 * - `rules`: matching calls are refused with an error or delayed. `control.arm(i, false)` lets rule i rest, `control.hits(i)`
 *   tells the number of hits.
 * - `clock`: `control.clockOffsetMs = …` moves the command's time of day during the run.
 *
 * The command has the standard streams, the environment and the folder of the tracer. The tracer ends with the command and
 * with the code; a kill of the tracer kills the command. A signal for the command is sent to `control.pid`: a signal to the
 * tracer ends both. Only the requested calls stop a thread (seccomp); all others run at full speed.
 */
import { Clock, clockTraps } from "./clock.ts";
import { readConfig } from "./config.ts";
import { Control } from "./control.ts";
import { Faults, faultTraps } from "./faults.ts";
import { LogWriter } from "./log.ts";
import { Recorder, recordedTraps } from "./recorder.ts";
import type { Entry } from "./thread.ts";
import { trace, type Verdict } from "./tracees.ts";

const [path, separator, ...command] = process.argv.slice(2);
if (path === undefined || separator !== "--" || command.length === 0) {
  console.error("Usage: main.ts CONFIG -- COMMAND [ARGUMENT…]");
  process.exit(2);
}
const config = readConfig(path);
const control = new Control(config.output);
const rules = config.rules ?? [];
const faults = new Faults(rules, control, config.seed ?? 1);
const clock = config.clock === true ? new Clock(control) : null;
const recorder =
  config.record === undefined ? null : new Recorder(config.record, new LogWriter(config.output, control));

function entered(entry: Entry): Verdict {
  return faults.entered(entry, () => clock?.entered(entry) ?? { kind: "go", atExit: recorder?.entered(entry) ?? null });
}

const traps = [
  ...faultTraps(rules),
  ...(clock === null ? [] : clockTraps),
  ...(recorder === null ? [] : recordedTraps),
];
const code = trace(command, { traps, entered, executed: (tid) => clock?.executed(tid) }, (pid) => {
  control.pid = pid;
});
process.exit(code);
