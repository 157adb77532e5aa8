/** Links of the router that look like a text or like a button. */
import { Anchor, type AnchorProps, Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type LinkProps<P> = P & Omit<ComponentPropsWithRef<"a">, keyof P>;

export const TextLink = createLink((props: LinkProps<AnchorProps>) => <Anchor size="sm" {...props} />);
export const ButtonLink = createLink((props: LinkProps<ButtonProps>) => <Button component="a" {...props} />);
