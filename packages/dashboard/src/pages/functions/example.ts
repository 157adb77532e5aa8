/** A complete example file of a function, for an existing collection. */
import { useQuery } from "@tanstack/react-query";
import type { ExampleProps } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";

function exampleFor(collection: string): ExampleProps {
  return {
    path: `functions/${collection}/welcome.ts`,
    code: `export const options: FunctionOptions = {
  timeout: "10s",
  retries: 3,
};

export const onCreate: OnCreate<"${collection}"> = async (
  { record, logger },
) => {
  logger.info("A new record", { id: record.id });
};
`,
  };
}

export function useExample(): ExampleProps {
  const { data } = useQuery(collectionsQuery);
  return exampleFor(data?.[0]?.name ?? "posts");
}
