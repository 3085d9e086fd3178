import { ourStore } from './local.mjs';
import { steadyLoad } from './steady.mjs';
const { store } = await ourStore(process.env.BENCH_DIR ?? '/work/lead4/bench');
console.log(await steadyLoad(store, Number(process.env.P ?? 4096), 4000));
await store.close();
