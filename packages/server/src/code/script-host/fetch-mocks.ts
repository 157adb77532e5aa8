/** The origins for which a test answers `fetch` (`socle test`), in the service under test and in the script processes. */
import type { FetchMocks } from "@socle/protocol";

let mocks: FetchMocks | null = null;

/** Null without mocks, as in every service in use. */
export function fetchMocks(): FetchMocks | null {
  return mocks;
}

export function useFetchMocks(given: FetchMocks | null): void {
  mocks = given;
}
