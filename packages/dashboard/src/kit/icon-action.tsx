/** A quiet button with an icon: with a name for screen readers, and a tooltip when the icon needs words. */
import { ActionIcon, type ActionIconProps, Tooltip } from "@mantine/core";
import type { ComponentPropsWithRef, ComponentType } from "react";
import classes from "./icon-action.module.css";

interface IconActionProps
  extends ActionIconProps,
    Omit<ComponentPropsWithRef<"button">, keyof ActionIconProps | "children"> {
  icon: ComponentType<{ size?: number }>;
  iconSize?: number;
  /** The accessible name. */
  label: string;
  tip?: string;
  /** A word beside the icon, on a screen with room for words. */
  word?: string;
}

export function IconAction({
  icon: Icon,
  iconSize = 15,
  label,
  tip,
  word,
  className = "",
  ...button
}: IconActionProps) {
  const action = (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-label={label}
      {...button}
      className={`${word === undefined ? "" : classes["worded"]} ${className}`}
    >
      <Icon size={iconSize} />
      {word !== undefined && <span className={classes["word"]}>{word}</span>}
    </ActionIcon>
  );
  return tip === undefined ? action : <Tooltip label={tip}>{action}</Tooltip>;
}
