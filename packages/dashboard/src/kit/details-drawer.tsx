/** The drawer at the right, with the details of the item that a parameter of the address names. */
import { Drawer, Group, Text } from "@mantine/core";
import { type ReactNode, useRef } from "react";
import { text } from "../texts/index.ts";
import classes from "./details-drawer.module.css";
import { drawerMark, useEscape } from "./use-escape.ts";

interface DetailsDrawerProps {
  isOpen: boolean;
  onClose: () => void;
  title: ReactNode;
  size?: number | string;
  children: ReactNode;
}

export function DetailsDrawer({ isOpen, onClose, title, size = 520, children }: DetailsDrawerProps) {
  // While the drawer closes, the last content stays visible.
  const last = useRef({ title, children });
  if (isOpen) last.current = { title, children };
  useEscape(isOpen, onClose);
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      position="right"
      size={size}
      closeOnEscape={false}
      // The title gets the focus first, instead of the button that closes the drawer.
      title={
        <span tabIndex={-1} data-autofocus>
          {last.current.title}
        </span>
      }
      attributes={{ content: drawerMark, header: { role: "presentation" } }}
      overlayProps={{ backgroundOpacity: 0.18 }}
      transitionProps={{ duration: 140 }}
      closeButtonProps={{ "aria-label": text.common.close }}
      classNames={{
        content: classes["content"] ?? "",
        header: classes["header"] ?? "",
        title: classes["title"] ?? "",
        body: classes["body"] ?? "",
      }}
    >
      {last.current.children}
    </Drawer>
  );
}

/** A part of a drawer under a heading. */
export function DetailsSection(props: { title: string; actions?: ReactNode; children: ReactNode }) {
  const { title, actions, children } = props;
  return (
    <section className={classes["section"]}>
      <Group justify="space-between" mb={8} mih={26} wrap="nowrap">
        <Text component="h3" m={0} size="sm" fw={600}>
          {title}
        </Text>
        {actions}
      </Group>
      {children}
    </section>
  );
}

/** Names and values. A value that is null is left out. */
export function Facts({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={classes["facts"]}>
      {items
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div key={name} className={classes["fact"]}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
