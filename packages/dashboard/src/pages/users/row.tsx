/** A row of a list in the drawer of a user: words, and a button at the right. */
import type { ReactNode } from "react";
import classes from "./users.module.css";

export function Row({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <li className={classes["row"]}>
      <div className="breaks">{children}</div>
      {action}
    </li>
  );
}
