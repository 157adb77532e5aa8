/** The page of a service without functions: a complete example file. */
import { IconBolt } from "@tabler/icons-react";
import { EmptyState, Example } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { useExample } from "./example.ts";

export function NoFunctions() {
  return (
    <EmptyState icon={IconBolt} title={text.functions.emptyTitle} body={text.functions.emptyBody}>
      <Example {...useExample()} />
    </EmptyState>
  );
}
