/**
 * A component that is loaded when first needed, or before. A loaded component is drawn at once: a lazy component of
 * React shows its fallback first, for some hundred milliseconds, and keys pressed meanwhile would be lost.
 */
import { type ComponentType, lazy, useState } from "react";

export interface Preloadable<P extends object> {
  /** This component needs a `Suspense` around itself. */
  readonly Component: ComponentType<P>;
  readonly preload: () => Promise<void>;
}

export function preloadable<P extends object>(load: () => Promise<ComponentType<P>>): Preloadable<P> {
  let Loaded: ComponentType<P> | null = null;
  const fetch = async (): Promise<{ default: ComponentType<P> }> => {
    const component = await load();
    Loaded = component;
    return { default: component };
  };
  // The component is chosen once and stays: a change of component would lose the state.
  const Lazy: ComponentType<P> = lazy(fetch);
  const Component = (props: P) => {
    const [Chosen] = useState<ComponentType<P>>(() => Loaded ?? Lazy);
    return <Chosen {...props} />;
  };
  return { Component, preload: async () => void (await fetch()) };
}
