/** End of a test run: work that has to happen when the test process has ended, however the test process ends. */

/** Runs a command of the shell when this process has ended. `bun test` calls no listener to the end of its process. */
export function atEndOfRun(command: string): void {
  // The pipe is closed with the process that holds the other end.
  const child = Bun.spawn(["sh", "-c", `trap '' INT TERM; cat > /dev/null; ${command}`], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  child.unref();
}
