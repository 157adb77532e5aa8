/** Moments at which a client does not wait any longer: the network is there again, or somebody looks at the page again. */

/** The parts of a browser that tell; other runtimes tell nothing. */
interface Page {
  readonly document?: { readonly visibilityState: string };
  addEventListener?(type: string, listener: (event: { readonly type: string }) => void): void;
}

/** Calls back at each such moment. */
export function onWake(listener: () => void): void {
  const page = globalThis as Page;
  for (const type of ["online", "visibilitychange"])
    page.addEventListener?.(type, () => {
      if (type === "online" || page.document?.visibilityState === "visible") listener();
    });
}
