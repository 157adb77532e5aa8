/** Things that are gone: the service answers 404. */

export function isGone(error: unknown): boolean {
  return error instanceof Error && "status" in error && error.status === 404;
}

/** The answer of a request; null for a thing that is gone. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}
