/** The plugin for JupyterLab and Notebook 7: registers the parts, each in its own module. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from "@jupyterlab/application";
import { ILayoutRestorer } from "@jupyterlab/application";
import { ICommandPalette } from "@jupyterlab/apputils";
import { IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { IConsoleTracker } from "@jupyterlab/console";
import { INotebookTracker } from "@jupyterlab/notebook";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { openBeside } from "./beside";
import { addCommands, loadExtension } from "./commands";
import { insertOnClick } from "./insert";
import { keepKeys } from "./keys";
import { addLanguages } from "./languages";
import { Compiles } from "./live";
import { type Choices, chosen } from "./settings";
import { shared } from "./shared";
import { Sites } from "./site";

const ID = "@jaxscope/lab:plugin";

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: "Live compilations of the active notebook, badges on cells, languages, commands.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [
    INotebookTracker,
    IConsoleTracker,
    ICommandPalette,
    ISettingRegistry,
    IEditorLanguageRegistry,
    ILayoutRestorer,
  ],
  activate: async (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
    palette: ICommandPalette | null,
    settings: ISettingRegistry | null,
    languages: IEditorLanguageRegistry | null,
    restorer: ILayoutRestorer | null,
  ) => {
    const sites = new Sites(notebooks, consoles, (id) => app.shell.activateById(id));
    keepKeys(window);
    shared.rendermime = rendermime;
    shared.openBeside = (model, resolver) => openBeside(app, rendermime, model, resolver);
    shared.site = (resolver) => sites.find(resolver);
    shared.returned.emit();
    const compiles = notebooks ? new Compiles(app, notebooks, restorer, loadExtension) : null;
    if (notebooks && compiles) addCommands(app, notebooks, palette, () => compiles.openPanel());
    if (notebooks) insertOnClick(notebooks);
    let languagesAdded = false;
    const apply = (choices: Choices) => {
      compiles?.choose(choices.panel, choices.badges);
      if (choices.languages && languages && !languagesAdded) {
        addLanguages(languages, app.docRegistry);
        languagesAdded = true;
      }
      if (choices.viewer === shared.viewer) return;
      shared.viewer = choices.viewer;
      shared.viewerChanged.emit(choices.viewer);
    };
    await chosen(settings, ID, apply);
  },
};

export default plugin;
