import { defineHandler } from 'nitro';

export default defineHandler(() => 'page');
