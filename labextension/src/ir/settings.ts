/** How the panes of one viewer are drawn. Lives as long as the viewer, and is kept nowhere else. */

export interface Settings {
  colors: boolean;
  wrap: boolean;
  metadata: boolean;
  layouts: boolean;
}

export const FIRST: Readonly<Settings> = {
  colors: true,
  wrap: false,
  metadata: false,
  layouts: true,
};

/** What is left out of the texts. */
export function hidden(settings: Settings): ReadonlySet<"metadata" | "layouts"> {
  const found = new Set<"metadata" | "layouts">();
  if (!settings.metadata) found.add("metadata");
  if (!settings.layouts) found.add("layouts");
  return found;
}
