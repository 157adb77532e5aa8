/** The list of collections beside the chosen collection: records, schema, import. On narrow screens the list is a separate page. */
import { Outlet, useLocation } from "@tanstack/react-router";
import { CollectionList } from "./collection-list.tsx";
import classes from "./collections.module.css";

export function CollectionsLayout() {
  const path = useLocation({ select: ({ pathname }) => pathname.replace(/\/$/, "") });
  return (
    <div className={classes["layout"]} data-is-list={path.endsWith("/collections") || undefined}>
      <aside className={classes["side"]}>
        <CollectionList />
      </aside>
      <div className={classes["content"]}>
        <Outlet />
      </div>
    </div>
  );
}
