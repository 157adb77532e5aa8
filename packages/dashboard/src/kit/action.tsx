/** The small buttons of a page: an icon and a label; and links of the router that look like a button or like a text. */
import { Anchor, type AnchorProps, Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef, ComponentType, ReactNode } from "react";

interface Look {
  icon?: ComponentType<{ size?: number }> | undefined;
  label: ReactNode;
  /** Whether the button begins something that destroys. */
  isDanger?: boolean | undefined;
  /** Whether the button has no frame, for an action of little weight. */
  isQuiet?: boolean | undefined;
}

type ActionProps = Look & ButtonProps & Omit<ComponentPropsWithRef<"button">, keyof ButtonProps | "children">;
type LinkActionProps = Look & ButtonProps & Omit<ComponentPropsWithRef<"a">, keyof ButtonProps | "children">;

function lookOf({ icon: Icon, isDanger = false, isQuiet = false }: Omit<Look, "label">): ButtonProps {
  return {
    size: "xs",
    variant: "default",
    ...(Icon !== undefined && { leftSection: <Icon size={14} /> }),
    ...(isQuiet && { variant: "subtle", color: "gray" }),
    ...(isDanger && { c: "var(--mantine-color-error)" }),
  };
}

export function Action({ icon, label, isDanger, isQuiet, ...button }: ActionProps) {
  return (
    <Button {...lookOf({ icon, isDanger, isQuiet })} {...button}>
      {label}
    </Button>
  );
}

export const LinkAction = createLink(({ icon, label, isDanger, isQuiet, ...link }: LinkActionProps) => (
  <Button component="a" {...lookOf({ icon, isDanger, isQuiet })} {...link}>
    {label}
  </Button>
));

type LinkProps<P> = P & Omit<ComponentPropsWithRef<"a">, keyof P>;

export const TextLink = createLink((props: LinkProps<AnchorProps>) => <Anchor size="sm" {...props} />);
