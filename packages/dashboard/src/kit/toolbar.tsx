/** The row of filters below the head of a filled page. */
import type { ReactNode } from "react";
import classes from "./toolbar.module.css";

export function Toolbar({ label, children }: { label: string; children: ReactNode }) {
  return (
    <search className={classes["toolbar"]} aria-label={label}>
      {children}
    </search>
  );
}
