// All scenarios, by section of the contract.
import { readdirSync } from 'node:fs';

const folder = new URL('./scenarios/', import.meta.url);
const names = readdirSync(folder).sort();
const modules = await Promise.all(names.map((name) => import(new URL(name, folder))));

export const scenarios = modules.flatMap(({ default: one }) => one.scenarios);
