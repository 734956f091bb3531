// Types that a program may name.
import type {
  BroadcastOptions,
  ControlCallback,
  DeflateOptions,
  FrameOptions,
  Histogram,
  Metrics,
  OriginRule,
  ProxyProtocol,
  Published,
  ReactorMetrics,
  ServerOptions,
  TrafficOptions,
} from 'ws';
import { PerMessageDeflate, Sender, WebSocketServer } from 'ws';

const origin: OriginRule = (page, request) => page === undefined && request.url === '/';
const proxyProtocol: ProxyProtocol = { trusted: ['::1'] };
const traffic: TrafficOptions = { messagesPerSecond: 100, limit: 'close' };
const options: ServerOptions = { port: 0, allowedOrigins: [origin], proxyProtocol, ...traffic, topicOptions: () => ({ history: 1 }) };
const wss = new WebSocketServer(options);
const metrics: Metrics = wss.metrics();
const reactors: ReactorMetrics | null = metrics.reactors;
const turns: Histogram | undefined = reactors?.turn;
const data: Published = 'text';
const except: BroadcastOptions = { except: wss.clients, compress: turns === undefined };
wss.broadcast(data, except);
const ponged: ControlCallback = (error) => console.error(error);
wss.on('connection', (ws) => ws.pong('', false, ponged));
const deflate: DeflateOptions = { threshold: 10 };
const frame: FrameOptions = { opcode: 1, fin: true };
console.log(new PerMessageDeflate(deflate).params, Sender.frame('a', frame));
