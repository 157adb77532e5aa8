/** The text of the types of queries, which the package of the protocol exports beside the types themselves. */
declare module "@socle/protocol/query-types.txt" {
  const text: string;
  export default text;
}
