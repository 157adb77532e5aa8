/** The method of a request, as a badge. */
import { Badge } from "@mantine/core";

const colours: { readonly [method: string]: string } = {
  GET: "gray",
  POST: "verdigris",
  PUT: "violet",
  PATCH: "violet",
  DELETE: "red",
};

export function MethodMark({ method }: { method: string }) {
  return (
    <Badge
      size="sm"
      radius="sm"
      variant="light"
      color={colours[method] ?? "gray"}
      w={68}
      px={4}
      flex="none"
      tt="none"
      className="mono"
    >
      {method}
    </Badge>
  );
}
