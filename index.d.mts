// What `import` gives: the names of index.d.ts.
import WebSocket = require('./index.js');

export import AddressInfo = WebSocket.AddressInfo;
export import BinaryType = WebSocket.BinaryType;
export import BufferLike = WebSocket.BufferLike;
export import CertMeta = WebSocket.CertMeta;
export import ClientOptions = WebSocket.ClientOptions;
export import CloseEvent = WebSocket.CloseEvent;
export import Data = WebSocket.Data;
export import DrainOptions = WebSocket.DrainOptions;
export import DrainProgress = WebSocket.DrainProgress;
export import ErrorEvent = WebSocket.ErrorEvent;
export import Event = WebSocket.Event;
export import EventListenerOptions = WebSocket.EventListenerOptions;
export import FinishRequestCallback = WebSocket.FinishRequestCallback;
export import History = WebSocket.History;
export import HistoryOptions = WebSocket.HistoryOptions;
export import MessageEvent = WebSocket.MessageEvent;
export import PerMessageDeflateOptions = WebSocket.PerMessageDeflateOptions;
export import Position = WebSocket.Position;
export import PrepareOptions = WebSocket.PrepareOptions;
export import PreparedMessage = WebSocket.PreparedMessage;
export import PublishOptions = WebSocket.PublishOptions;
export import RawData = WebSocket.RawData;
export import Receipt = WebSocket.Receipt;
export import SendCallback = WebSocket.SendCallback;
export import SendOptions = WebSocket.SendOptions;
export import ServerOptions = WebSocket.ServerOptions;
export import SubscribeOptions = WebSocket.SubscribeOptions;
export import Subscribed = WebSocket.Subscribed;
export import TopicOptions = WebSocket.TopicOptions;
export import VerifyClientCallbackAsync = WebSocket.VerifyClientCallbackAsync;
export import VerifyClientCallbackSync = WebSocket.VerifyClientCallbackSync;
export import VerifyInfo = WebSocket.VerifyInfo;
export import WebSocketEventMap = WebSocket.WebSocketEventMap;
export import PerMessageDeflate = WebSocket.PerMessageDeflate;
export import Receiver = WebSocket.Receiver;
export import Sender = WebSocket.Sender;
export import Server = WebSocket.Server;
export import WebSocketServer = WebSocket.WebSocketServer;
export import createWebSocketStream = WebSocket.createWebSocketStream;
export import extension = WebSocket.extension;
export import prepare = WebSocket.prepare;
export import subprotocol = WebSocket.subprotocol;

// The declaration that `declare module` adds members to; see index.d.ts.
import Class = WebSocket.WebSocket;
export { Class as WebSocket, WebSocket as default };
