/** A notice in a page: a mistake, or a fact that needs attention. */
import { Alert, type AlertProps } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import classes from "./notice.module.css";

export function Notice({ tone, ...alert }: { tone: "bad" | "warn" } & AlertProps) {
  return <Alert className={classes[tone] ?? ""} icon={<IconAlertTriangle aria-hidden />} {...alert} />;
}
