/**
 * Takes from the user's code what would end the process that all functions share, or reach past it. This guards against
 * accidents: whoever writes functions owns the service.
 */
export function guardProcess(): void {
  const refuse = (name: string, instead: string) => (): never => {
    throw new Error(
      `${name} is not available in functions and jobs: it would end those that run beside this one. ${instead}`,
    );
  };
  const leave = "To end this one, return or throw.";
  const guarded = {
    exit: refuse("process.exit()", leave),
    reallyExit: refuse("process.reallyExit()", leave),
    abort: refuse("process.abort()", leave),
    kill: refuse("process.kill()", "A process that you started has a kill() of its own."),
    disconnect: () => undefined,
    send: undefined,
  };
  for (const [name, value] of Object.entries(guarded))
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
  // Whoever signals the parent by its number meets this process.
  Object.defineProperty(process, "ppid", { value: process.pid, configurable: true });
}
