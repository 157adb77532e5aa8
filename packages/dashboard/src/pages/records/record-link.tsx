/** A link to a record or a user, by the collection and the id. */
import { Link } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

export function RecordLink({
  collection,
  id,
  ...props
}: { collection: string; id: string } & Omit<ComponentPropsWithRef<"a">, "href" | "target">) {
  return collection === "users" ? (
    <Link to="/users" search={{ user: id }} {...props} />
  ) : (
    <Link to="/collections/$name" params={{ name: collection }} search={{ record: id }} {...props} />
  );
}
