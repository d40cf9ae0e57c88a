/** The user's settings; `schema/plugin.json` describes them. */

import type { ISettingRegistry } from "@jupyterlab/settingregistry";

export interface Choices {
  panel: boolean;
  badges: boolean;
  languages: boolean;
  viewer: boolean;
}

/** Calls back with the settings now and after each change. Without a registry everything is on. */
export async function chosen(
  registry: ISettingRegistry | null,
  plugin: string,
  apply: (choices: Choices) => void,
): Promise<void> {
  const everything = { panel: true, badges: true, languages: true, viewer: true };
  if (!registry) return apply(everything);
  try {
    const settings = await registry.load(plugin);
    const read = () => {
      const on = (key: keyof Choices) => settings.get(key).composite !== false;
      apply({
        panel: on("panel"),
        badges: on("badges"),
        languages: on("languages"),
        viewer: on("viewer"),
      });
    };
    settings.changed.connect(read);
    read();
  } catch (error) {
    // For instance the schema of a different version. The features do not depend on it.
    console.warn(`jaxscope's settings could not be read: ${error}`);
    apply(everything);
  }
}
