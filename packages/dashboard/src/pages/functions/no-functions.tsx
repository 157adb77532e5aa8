/** A complete example file of a function, for an existing collection; and the page of a service without functions. */
import { IconBolt } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { EmptyState, Example, type ExampleProps } from "../../kit/index.ts";
import { collectionsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";

export function NoFunctions() {
  return (
    <EmptyState icon={IconBolt} title={text.functions.emptyTitle} body={text.functions.emptyBody}>
      <Example {...useExample()} />
    </EmptyState>
  );
}

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
