/** A service under comparison, with what differs between the services. */

export interface Peer {
  readonly name: string;
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The path of the records. */
  readonly records: string;
  /** The parameters with which a list has at most 20 records and no total. */
  readonly listOptions: string;
  /** Records that are there from the start, in the order of `count`. */
  readonly ids: string[];
  /** MiB. */
  resident(): number;
  /** Opens a subscription to the events of all records. @param on gets the `count` of each created record. */
  subscribe(on: (count: number) => void): Promise<{ close(): void }>;
  stop(): Promise<void>;
}
